#include <tools/inspect/memory/stat.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

json to_json(const measured& part) {
    const usage& bytes = part.bytes;
    return {{"header", bytes.header},
            {"links", bytes.links},
            {"values", bytes.values},
            {"slack", bytes.slack},
            {"punched", bytes.punched},
            {"total", bytes.total},
            {"files", part.file_bytes},
            {"slots",
             {{"live", bytes.slots_live},
              {"free", bytes.slots_free},
              {"never_used", bytes.slots_never_used}}}};
}

json to_json(const type_report& type) {
    return {{"name", type.name},
            {"objects", type.objects},
            {"next_id", type.next_id},
            {"value_bytes", type.value_bytes},
            {"link_bytes", type.link_bytes},
            {"node_bytes", type.node_bytes},
            {"keys", type.keys},
            {"nodes", to_json(type.nodes)},
            {"ids", to_json(type.ids)},
            {"tables", to_json(type.tables)},
            {"total", to_json(type.total())}};
}

json to_json(const buffer_report& buffers) {
    return {{"name", buffers.name},
            {"slot_bytes", buffers.slot_bytes},
            {"memory", to_json(buffers.memory)}};
}

json log_to_json(const state_report& state) {
    return {{"bytes_in_use", state.log.bytes.values},
            {"sessions", state.sessions},
            {"revision", state.revision},
            {"irreversible_revision", state.irreversible_revision},
            {"changes", state.changes},
            {"memory", to_json(state.log)}};
}

json header_to_json(const state_report& state) {
    return {{"format", state.format},
            {"windows", state.windows},
            {"window_bytes", state.window_bytes},
            {"boot", state.boot},
            {"memory", to_json(state.header)}};
}

json to_json(const std::optional<archive_report>& archive) {
    if (!archive) return nullptr;
    json all = {{"folder", archive->folder.string()}, {"readable", archive->refusal.empty()}};
    if (!archive->refusal.empty()) {
        all["refusal"] = archive->refusal;
        return all;
    }
    all["store"] = archive->store;
    json tables = json::array();
    for (const archive_report::table& table : archive->tables)
        tables.push_back({{"name", table.name}, {"rows", table.rows}, {"keys", table.keys}});
    all["rows"] = archive->rows();
    all["tables"] = std::move(tables);
    return all;
}

json to_json(const state_growth::part& part) {
    return {{"name", part.name},
            {"objects", part.objects},
            {"used_bytes", part.used_bytes},
            {"file_bytes", part.file_bytes}};
}

template <typename Part>
json list_of(const std::vector<Part>& parts) {
    json list = json::array();
    for (const Part& each : parts)
        list.push_back(to_json(each));
    return list;
}

json sums_to_json(const state_report& state) {
    return {{"header", state.header.bytes.total},
            {"log", state.log.bytes.total},
            {"buffers", state.buffers_total().bytes.total},
            {"types", state.types_total().bytes.total},
            {"total", state.total().bytes.total},
            {"files", state.total().file_bytes},
            {"other_files", state.other_files}};
}

json object_of(const state_report& state, const std::optional<archive_report>& archive) {
    return {
        {"schema_version", 1},
        {"state", state.state.string()},
        {"segment", state.segment.string()},
        {"condition", to_string(state.condition)},
        {"writer", state.writer},
        {"consistent", state.consistent},
        {"discrepancies", state.discrepancies},
        {"header", header_to_json(state)},
        {"log", log_to_json(state)},
        {"buffers", list_of(state.buffers)},
        {"types", list_of(state.types)},
        {"sums", sums_to_json(state)},
        {"total", to_json(state.total())},
        {"archive", to_json(archive)},
    };
}

} // namespace

std::string as_json(const state_report& state, const std::optional<archive_report>& archive) {
    return object_of(state, archive).dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string as_json_line(const state_report& state, const std::optional<archive_report>& archive,
                         const state_growth& growth) {
    json all = object_of(state, archive);
    all["growth_per_minute"] = {{"seconds", growth.seconds},
                                {"objects", growth.whole.objects},
                                {"used_bytes", growth.whole.used_bytes},
                                {"file_bytes", growth.whole.file_bytes},
                                {"types", list_of(growth.types)}};
    return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace chainbase::inspect
