#include <chainbase/segment/segment_header.hpp>
#include <tools/inspect/json_text.hpp>
#include <tools/inspect/state/info.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/schema_hash.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

json header_of(const state_info& info) {
    if (!info.header) return nullptr;
    const segment_header& header = *info.header;
    return {{"format", header.format},
            {"windows", header.windows},
            {"window_bytes", header.window_bytes},
            {"clean", header.clean},
            {"synced", header.synced},
            {"generation", header.generation},
            {"boot", detail::boot_of(header)},
            {"this_boot", info.is_this_boot}};
}

json log_of(const state_info& info) {
    if (!info.log) return nullptr;
    const log_heading& log = info.log->heading;
    return {{"revision", log.revision},
            {"irreversible_revision", log.irreversible_revision},
            {"sessions", log.sessions},
            {"bytes_in_use", log.bytes_in_use}};
}

json schema_of(const state_info& info) {
    if (!info.types) return nullptr;
    json types = json::array();
    for (const catalogue::entry& one : info.types->entries())
        types.push_back({{"name", one.schema.name}, {"hash", hash_text(one.schema.hash())}});
    return {{"hash", hash_text(schema_hash(*info.types))}, {"types", std::move(types)}};
}

json huge_pages_of(const state_info& info) {
    json all = {{"shmem_enabled", text_or_null(info.huge_of_memory)},
                {"mount_option", text_or_null(info.segment_mount.huge)},
                {"writer", nullptr}};
    if (info.pages)
        all["writer"] = {{"mappings", info.pages->mappings},
                         {"resident", info.pages->resident},
                         {"shmem_pmd_mapped", info.pages->huge_of_memory},
                         {"file_pmd_mapped", info.pages->huge_of_files},
                         {"anon_huge_pages", info.pages->huge_private}};
    return all;
}

json checkpoints_of(const state_info& info) {
    json all = json::array();
    for (const checkpoint_info& one : info.checkpoints)
        all.push_back({{"generation", one.generation},
                       {"name", named_state::name_of(info.state, one.generation)},
                       {"revision", one.revision},
                       {"irreversible_revision", one.irreversible_revision},
                       {"time", one.time},
                       {"bytes", one.bytes},
                       {"redo_log", one.has_redo_log}});
    return all;
}

json place_of(const state_info& info) {
    return {{"segment", text_or_null(info.segment.string())},
            {"in_memory", info.is_in_memory},
            {"lost_with_the_machine", info.is_lost_with_the_machine},
            {"file_system", text_or_null(info.segment_mount.type)},
            {"mount", text_or_null(info.segment_mount.point.string())},
            {"state_file_system", text_or_null(info.state_mount.type)}};
}

json writer_of(const state_info& info) {
    const bool is_known = info.writer.process != 0;
    return {{"process", is_known ? json(info.writer.process) : json(nullptr)},
            {"alive", info.writer.is_alive}};
}

} // namespace

std::string as_json(const state_info& info) {
    json troubles = json::array();
    for (const trouble& one : info.troubles)
        troubles.push_back({{"code", one.code}, {"what", one.what}});
    const json all = {
        {"schema_version", 1},
        {"state", info.state.string()},
        {"condition", condition_of(info)},
        {"next_opening", {{"does", to_string(info.next)}, {"why", info.why}}},
        {"troubles", std::move(troubles)},
        {"header", header_of(info)},
        {"log", log_of(info)},
        {"writer", writer_of(info)},
        {"readers", info.readers},
        {"place", place_of(info)},
        {"huge_pages", huge_pages_of(info)},
        {"schema", schema_of(info)},
        {"checkpoints", checkpoints_of(info)},
        {"promise", text_or_null(info.promise)},
        {"archive", text_or_null(info.archive)},
        {"permissions",
         {{"owner", info.owner},
          {"mode", info.mode},
          {"readers_group", text_or_null(info.readers_group)}}},
    };
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace chainbase::inspect
