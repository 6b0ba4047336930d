#include <tools/inspect/get.hpp>
#include <tools/inspect/json_text.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/row_query.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

struct call {
    std::string state;
    std::string type;
    std::string key;
    std::vector<std::string> parts;
    bool json = false;
};

std::string as_json(const call& asked, const row_source& from, const found_rows& found) {
    nlohmann::ordered_json head;
    head["schema_version"] = 1;
    head["state"] = asked.state;
    head["type"] = asked.type;
    head["key"] = asked.key;
    head["revision"] = found.revision;
    head["rolled_back"] = from.is_rolled_back();
    std::string text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.pop_back();
    return text + fmt::format(",\"rows\":[{}]}}\n", fmt::join(found.json, ","));
}

/// A field a line; rows with an empty line between them.
std::string as_text(const found_rows& found) {
    std::size_t width = 0;
    for (const std::string& name : found.names)
        width = std::max(width, name.size());
    std::string text;
    for (const auto& row : found.cells) {
        if (!text.empty()) text += "\n";
        for (std::size_t field = 0; field < row.size(); ++field)
            text += fmt::format("{:<{}}  {}\n", found.names[field], width, row[field]);
    }
    return text;
}

exit_code run(const call& asked) {
    row_source from(asked.state);
    const found_rows found = find_rows(from, asked.type, asked.key, asked.parts);
    if (from.is_rolled_back())
        spdlog::warn("{}: its writer died; this is what the next opening rolls back to, revision "
                     "{}",
                     asked.state, found.revision);
    print_or_throw(asked.json ? as_json(asked, from, found) : as_text(found));
    if (!found.json.empty()) return exit_code::done;
    spdlog::error("{}: no {} in memory has {} {}", asked.state, asked.type, asked.key,
                  fmt::join(asked.parts, " "));
    return exit_code::failed;
}

} // namespace

void add_get(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand("get", "The objects that have a key");
    verb->add_option("DIR", asked->state, "The folder of the state")->required();
    verb->add_option("TYPE", asked->type, "The name of a type (`schema` lists them)")->required();
    verb->add_option("KEY", asked->key, "The name of one of its keys, or id")->required();
    verb->add_option("PART", asked->parts, "The parts of the key, in order")->required();
    verb->add_flag("--json", asked->json, "Print one JSON object");
    verb->callback(
        [asked, &result] { result = look_at(asked->state, [&] { return run(*asked); }); });
}

} // namespace chainbase::inspect
