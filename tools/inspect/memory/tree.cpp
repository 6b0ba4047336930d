#include <tools/inspect/assets.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/memory_tree.hpp>
#include <tools/inspect/output_file.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace chainbase::inspect {

static json report_value(const memory_node& node) {
    json all = {{"name", node.name}, {"bytes", node.bytes}, {"held", node.held}};
    if (!node.children.empty()) all["children"] = json_of(node.children);
    return all;
}

namespace {

/// A folder is an array that begins with what is known of itself, a file an object.
json to_ncdu(const memory_node& node, const std::string& name) {
    if (node.children.empty()) return {{"name", name}, {"asize", node.bytes}, {"dsize", node.held}};
    json all = json::array({{{"name", name}}});
    for (const memory_node& each : node.children)
        all.push_back(to_ncdu(each, each.name));
    return all;
}

/// Without what a folded stack gives a meaning to.
std::string frame_of(const std::string& name) {
    std::string frame = valid_utf8(name);
    std::ranges::replace(frame, ';', ':');
    std::ranges::replace_if(
        frame, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; }, '_');
    return frame;
}

void fold(const memory_node& node, const std::string& above, std::string& to) {
    const std::string stack = above + frame_of(node.name);
    if (node.children.empty()) to += fmt::format("{} {}\n", stack, node.bytes);
    for (const memory_node& each : node.children)
        fold(each, stack + ";", to);
}

constexpr std::size_t bar_width = 20;

struct line {
    std::string branches; ///< what leads to the name
    std::size_t depth = 0;
    const memory_node* node = nullptr;

    /// Every branch takes three columns, in however many bytes.
    [[nodiscard]] std::size_t columns() const { return 3 * depth + node->name.size(); }
};

void add_lines(const memory_node& node, const std::string& branches, std::size_t depth,
               std::vector<line>& to) {
    for (const memory_node& each : node.children) {
        const bool is_last = &each == &node.children.back();
        to.push_back({branches + (is_last ? "└─ " : "├─ "), depth, &each});
        add_lines(each, branches + (is_last ? "   " : "│  "), depth + 1, to);
    }
}

/// In eighths of a column.
std::string bar_of(double share) {
    constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = static_cast<std::size_t>(share * 8 * bar_width + 0.5);
    std::string bar;
    for (std::size_t whole = 0; whole < eighths / 8; ++whole)
        bar += "█";
    return bar + parts[eighths % 8];
}

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

struct tree_call {
    std::string state;
    std::string html;
    bool ncdu = false;
    bool folded = false;
    bool json = false;
};

void tell(const tree_call& asked, const state_tree& found) {
    if (!asked.html.empty())
        return output_file(asked.html, {found.state.state, found.state.segment})
            .write(as_html(found));
    if (asked.ncdu) return print_or_throw(as_ncdu(found));
    if (asked.folded) return print_or_throw(as_folded(found));
    print_or_throw(asked.json ? as_json(found) : as_text(found));
}

exit_code run_tree(const tree_call& asked) {
    state_tree found{read_state(asked.state), {}};
    found.root = memory_tree(found.state);
    tell(asked, found);
    if (found.state.condition != condition::closed || found.state.consistent)
        return exit_code::done;
    spdlog::error("{}: the state is closed, and what it counts is not what its files hold; `stat` "
                  "says more",
                  asked.state);
    return exit_code::failed;
}

} // namespace

std::string as_json(const state_tree& found) {
    return lines_of({{"schema_version", 1},
                     {"state", found.state.state.string()},
                     {"segment", found.state.segment.string()},
                     {"condition", to_string(found.state.condition)},
                     {"consistent", found.state.consistent},
                     {"discrepancies", found.state.discrepancies},
                     {"bytes", found.root.bytes},
                     {"tree", json_of(found.root)}});
}

std::string as_ncdu(const state_tree& found) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const json about = {
        {"progname", "chainbase-inspect"},
        {"progver", "1"},
        {"timestamp", std::chrono::duration_cast<std::chrono::seconds>(now).count()}};
    const std::string top = std::filesystem::absolute(found.state.state).string();
    return line_of(json::array({1, 2, about, to_ncdu(found.root, top)})) + "\n";
}

std::string as_folded(const state_tree& found) {
    std::string all;
    fold(found.root, "", all);
    return all;
}

std::string as_text(const state_tree& found) {
    std::vector<line> lines{{"", 0, &found.root}};
    add_lines(found.root, "", 1, lines);
    std::size_t columns = 0;
    for (const line& each : lines)
        columns = std::max(columns, each.columns());
    std::string text;
    for (const line& each : lines) {
        const double percent = percent_of(each.node->bytes, found.root.bytes);
        std::string one = fmt::format("{}{}{:{}}  {:>15}  {:>5.1f} %  {}", each.branches,
                                      each.node->name, "", columns - each.columns(),
                                      grouped(each.node->bytes), percent, bar_of(percent / 100));
        one.erase(one.find_last_not_of(' ') + 1);
        text += one + "\n";
    }
    if (found.state.consistent) return text;
    return text + "\nread while it changed: the sums may miss the files' by a little\n";
}

std::string as_html(const state_tree& found) {
    std::string page(treemap_page);
    const auto fill = [&page](std::string_view place, const std::string& content) {
        page.replace(page.find(place), place.size(), content);
    };
    // The page has no module to import from.
    std::string layout(web_treemap_js);
    constexpr std::string_view exported = "export ";
    layout.erase(layout.find(exported), exported.size());
    fill("@TREEMAP@", layout);
    fill("@DATA@", within_script(as_json(found)));
    return page;
}

void declare_tree(command& verb) {
    const auto asked = std::make_shared<tree_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.at_most_one({
        verb.add_option("--html", asked->html, "Write a page with a treemap to this file"),
        verb.add_flag("--ncdu", asked->ncdu, "Print what `ncdu -f -` reads"),
        verb.add_flag("--folded", asked->folded, "Print folded stacks, for flame graphs"),
        verb.add_flag("--json", asked->json, "Print one JSON object"),
    });
    verb.runs([asked] { return look_at(asked->state, [&] { return run_tree(*asked); }); });
}

} // namespace chainbase::inspect
