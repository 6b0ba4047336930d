#include <tools/inspect/memory/map.hpp>
#include <tools/inspect/memory/stat.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

/// So many at most of a file, however long it is.
constexpr std::size_t most_cells = 512;

json cells_of(const window_map& file) {
    json all = json::array();
    for (const window_map::cell& each : file.cells(most_cells))
        all.push_back({{"first", each.first},
                       {"pages", each.pages},
                       {"bytes_in_use", each.bytes_in_use},
                       {"empty", each.empty},
                       {"punched", each.punched},
                       {"never_used", each.never_used}});
    return all;
}

json to_json(const window_map& file) {
    const window_map::run run = file.longest_free_run();
    return {{"file", file.name},
            {"type", file.type.empty() ? json(nullptr) : json(file.type)},
            {"kind", file.kind},
            {"bytes", file.bytes},
            {"header", file.header_bytes},
            {"in_use", file.bytes_in_use()},
            {"free", file.bytes_free()},
            {"never_used", file.bytes_never_used()},
            {"slot_bytes", file.slot_bytes},
            {"slots",
             {{"reserved", file.slots.reserved},
              {"used", file.slots.used},
              {"free", file.slots.free},
              {"never_used", file.slots.never_used}}},
            {"pages",
             {{"all", file.in_use.size()},
              {"header", file.count(window_map::page::header)},
              {"fullness", file.fullness()},
              {"punched", file.count(window_map::page::punched)},
              {"never_used", file.count(window_map::page::never_used)}}},
            {"longest_free_run", {{"first", run.first}, {"pages", run.pages}}},
            {"cells", cells_of(file)}};
}

} // namespace

std::string as_json(const segment_map& found) {
    json files = json::array();
    for (const window_map& each : found.windows)
        files.push_back(to_json(each));
    const json all = {{"schema_version", 1},
                      {"state", found.state.string()},
                      {"segment", found.segment.string()},
                      {"condition", to_string(found.condition)},
                      {"consistent", found.consistent},
                      {"discrepancies", found.discrepancies},
                      {"page_bytes", window_map::page_bytes},
                      {"bytes", found.bytes()},
                      {"in_use", found.bytes_in_use()},
                      {"other_files", found.other_files},
                      {"files", std::move(files)}};
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace chainbase::inspect
