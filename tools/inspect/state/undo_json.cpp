#include <tools/inspect/json_text.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/state/undo.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

json to_json(const owned_changes& one) {
    json all = {
        {one.is_type ? "type" : "of", one.owner}, {"records", one.records}, {"bytes", one.bytes}};
    if (!one.is_type && one.objects == 0) return all;
    all["objects"] = one.objects;
    all["created"] = one.created;
    all["modified"] = one.modified;
    all["removed"] = one.removed;
    all["created_and_removed"] = one.created_and_removed;
    return all;
}

json to_json(const undo_report& report, const logged_part& part) {
    json types = json::array();
    json others = json::array();
    std::uint64_t objects = 0;
    for (const owned_changes& one : report.changes_in(part)) {
        (one.is_type ? types : others).push_back(to_json(one));
        objects += one.objects;
    }
    return {{"records", part.records},
            {"bytes", part.bytes},
            {"objects", objects},
            {"marks", part.marks},
            {"mark_bytes", part.mark_bytes},
            {"unused_bytes", part.unused_bytes},
            {"types", std::move(types)},
            {"others", std::move(others)}};
}

json to_json(const undo_report& report, const logged_session& session) {
    json all = {{"revision", session.revision}, {"open", session.is_open}};
    all.update(to_json(report, session.part));
    return all;
}

/// Null when it is not known, which it is not before every session was looked at.
json taken_back(const undo_report& report) {
    if (!report.is_complete) return nullptr;
    return {{"operation", report.taken_back.operation},
            {"sessions", report.taken_back.sessions},
            {"revision", report.taken_back.revision}};
}

} // namespace

std::string as_json(const undo_report& report) {
    json sessions = json::array();
    for (const logged_session& one : report.sessions)
        sessions.push_back(to_json(report, one));
    const log_heading& log = report.heading;
    const bool has_session = log.sessions != 0;
    const json all = {
        {"schema_version", 1},
        {"state", report.state.string()},
        {"segment", report.segment.string()},
        {"condition", to_string(report.condition)},
        {"writer", report.writer},
        {"consistent", report.is_consistent},
        {"complete", report.is_complete},
        {"why_incomplete", text_or_null(report.why_incomplete)},
        {"types_unknown", text_or_null(report.why_no_types)},
        {"revision", log.revision},
        {"irreversible_revision", log.irreversible_revision},
        {"can_be_undone", log.sessions},
        {"oldest", has_session ? json(log.irreversible_revision + 1) : json(nullptr)},
        {"bytes_in_use", log.bytes_in_use},
        {"file_bytes", report.file_bytes},
        {"next_opening", taken_back(report)},
        {"operation",
         report.operation.bytes == 0 ? json(nullptr) : to_json(report, report.operation)},
        {"sessions", std::move(sessions)},
    };
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace chainbase::inspect
