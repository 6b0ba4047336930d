#include <tools/inspect/archive/archived_rows.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

namespace {

struct get_call {
    std::string state;
    std::string type;
    std::string key;
    std::vector<std::string> parts;
    bool json = false;
};

/// What both places have.
struct answer {
    found_rows in_memory;
    archived_rows archived;
    bool is_rolled_back = false;

    [[nodiscard]] bool is_empty() const noexcept {
        return in_memory.json.empty() && archived.rows.empty();
    }
};

/// The fields of an object as JSON: `values` of the names.
std::string object_of(const std::vector<std::string>& names,
                      const std::vector<std::string>& values) {
    std::string text;
    for (std::size_t field = 0; field < values.size(); ++field) {
        text += text.empty() ? '{' : ',';
        append_json_string(text, names[field]);
        text += ':' + values[field];
    }
    return text + '}';
}

std::string get_json(const get_call& asked, const answer& found) {
    std::string text = line_of({{"schema_version", 1},
                                {"state", asked.state},
                                {"type", asked.type},
                                {"key", asked.key},
                                {"revision", found.in_memory.revision},
                                {"rolled_back", found.is_rolled_back}});
    text.pop_back();
    std::vector<std::string> archived;
    for (const archived_rows::row& row : found.archived.rows)
        archived.push_back(object_of(found.in_memory.names, row.values));
    return text + fmt::format(",\"rows\":[{}],\"archived_rows\":[{}]}}\n",
                              fmt::join(found.in_memory.json, ","), fmt::join(archived, ","));
}

/// A field a line.
std::string columns_text(const std::vector<std::string>& names,
                         const std::vector<std::string>& values) {
    std::size_t width = 0;
    for (const std::string& name : names)
        width = std::max(width, name.size());
    std::string text;
    for (std::size_t field = 0; field < values.size(); ++field) {
        std::string_view value = values[field];
        if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
        text += fmt::format("{:<{}}  {}\n", names[field], width, value);
    }
    return text;
}

/// Rows with an empty line between them; those of the archive say so.
std::string get_text(const answer& found) {
    std::string text;
    const auto& names = found.in_memory.names;
    for (const auto& row : found.in_memory.cells)
        text.append(text.empty() ? "" : "\n").append(columns_text(names, row));
    for (const archived_rows::row& row : found.archived.rows)
        text += (text.empty() ? "" : "\n") + columns_text(names, row.values) + "(in the archive)\n";
    return text;
}

answer look_up(const get_call& asked) {
    answer found;
    row_source from(asked.state);
    found.is_rolled_back = from.is_rolled_back();
    found.in_memory = find_rows(from, asked.type, asked.key, asked.parts);
    const bool is_all = found.in_memory.is_unique && !found.in_memory.json.empty();
    if (!is_all) found.archived = archived_rows::find(from, asked.type, asked.key, asked.parts);
    return found;
}

exit_code run_get(const get_call& asked) {
    const answer found = look_up(asked);
    if (found.is_rolled_back)
        spdlog::warn("{}: its writer died; this is what the next opening rolls back to, revision "
                     "{}",
                     asked.state, found.in_memory.revision);
    print_or_throw(asked.json ? get_json(asked, found) : get_text(found));
    if (!found.is_empty()) return exit_code::done;
    spdlog::error("{}: no {} has {} {}{}", asked.state, asked.type, asked.key,
                  fmt::join(asked.parts, " "),
                  found.archived.is_asked ? ", in memory or in the archive"
                                          : " in memory (the archive is not searched by it)");
    return exit_code::failed;
}

} // namespace

void declare_get(command& verb) {
    const auto asked = std::make_shared<get_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("TYPE", asked->type, "The name of a type (`schema` lists them)").required();
    verb.add_option("KEY", asked->key, "The name of one of its keys, or id").required();
    verb.add_option("PART", asked->parts, "The parts of the key, in order").required();
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_get(*asked); }); });
}

} // namespace chainbase::inspect
