#include <tools/inspect/assets.hpp>
#include <tools/inspect/memory/tree.hpp>

namespace chainbase::inspect {

namespace {

constexpr std::string_view place_of_data = "@DATA@";

/// Within a script element, of whatever type, `</script` and `<!--` have a meaning; JSON has `<` in
/// strings only.
std::string within_script(const std::string& json) {
    std::string safe;
    for (const char c : json)
        if (c == '<')
            safe += "\\u003c";
        else
            safe += c;
    return safe;
}

} // namespace

std::string as_html(const state_tree& found) {
    std::string page(treemap_page);
    return page.replace(page.find(place_of_data), place_of_data.size(),
                        within_script(as_json(found)));
}

} // namespace chainbase::inspect
