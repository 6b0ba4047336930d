#include <tools/archive_figures.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/memory/stat.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

template <typename Value>
json or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json(nullptr);
}

json to_json(const archive_contents::table& one) {
    return {{"name", one.name},
            {"keys", one.keys},
            {"rows", or_null(one.rows)},
            {"in_both", one.in_both()},
            {"ahead", one.ahead},
            {"record_bytes", or_null(one.record_bytes)},
            {"in_memory", or_null(one.in_memory)},
            {"retired", or_null(one.retired)},
            {"handed_over", or_null(one.handed_over)}};
}

json to_json(const archive::rocksdb_family& one) {
    json levels = json::array();
    for (const auto& level : one.levels)
        levels.push_back({{"files", level.files}, {"bytes", level.bytes}});
    return {{"name", one.name},
            {"files", one.all_levels().files},
            {"file_bytes", one.all_levels().bytes},
            {"entries", one.entries},
            {"content_bytes", one.content},
            {"data_bytes", one.data},
            {"filter_bytes", one.filters},
            {"index_bytes", one.indexes},
            {"buffered_bytes", one.buffered},
            {"levels", levels}};
}

json to_json(const archive::rocksdb_facts& facts) {
    json families = json::array();
    for (const archive::rocksdb_family& one : facts.families)
        families.push_back(to_json(one));
    return {{"format", facts.format},
            {"closed", facts.closed},
            {"being_written", facts.is_being_written},
            {"synced_write", facts.synced},
            {"last_write", facts.last_write},
            {"log", {{"files", facts.log_files}, {"bytes", facts.log_bytes}}},
            {"families", families}};
}

json statistics_of(const archive_contents& found) {
    if (!found.statistics) return nullptr;
    json all = {
        {"process", found.statistics->process},
        {"opened", found.statistics->opened},
        {"closed", found.statistics->closed == 0 ? json(nullptr) : json(found.statistics->closed)},
        {"running", found.is_counting()}};
    all.update(chainbase::to_json(found.statistics->figures));
    return all;
}

} // namespace

std::string as_json(const archive_contents& found) {
    json tables = json::array();
    for (const archive_contents::table& one : found.tables)
        tables.push_back(to_json(one));
    const bool is_state_readable = found.state_refusal.empty();
    const json all = {
        {"schema_version", 1},
        {"state", found.state.string()},
        {"folder", found.folder.string()},
        {"store", found.store.empty() ? json(nullptr) : json(found.store)},
        {"condition", is_state_readable ? json(to_string(found.condition)) : json(nullptr)},
        {"writer", found.writer},
        {"readable", found.refusal.empty()},
        {"refusal", found.refusal.empty() ? json(nullptr) : json(found.refusal)},
        {"state_refusal", is_state_readable ? json(nullptr) : json(found.state_refusal)},
        {"findings", found.findings},
        {"rows", found.rows()},
        {"tables", tables},
        {"bytes",
         {{"files", found.files},
          {"file_bytes", found.file_bytes},
          {"disk_bytes", found.disk_bytes},
          {"segment_bytes", or_null(found.segment_bytes)}}},
        {"rocksdb", found.rocksdb ? to_json(*found.rocksdb) : json(nullptr)},
        {"statistics", statistics_of(found)},
    };
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace chainbase::inspect
