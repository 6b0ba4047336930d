#include <tools/inspect/look_at.hpp>
#include <tools/inspect/state/undo_report.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

// The members that each part of the report has in JSON, in their order.
BOOST_DESCRIBE_STRUCT(rolled_back, (), (operation, sessions, revision))

static json report_value(const owned_changes& one) {
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

namespace {

json json_of_part(const undo_report& report, const logged_part& part) {
    json types = json::array();
    json others = json::array();
    std::uint64_t objects = 0;
    for (const owned_changes& one : report.changes_in(part)) {
        (one.is_type ? types : others).push_back(json_of(one));
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

std::string as_json(const undo_report& report) {
    json sessions = json::array();
    for (const logged_session& one : report.sessions) {
        sessions.push_back({{"revision", one.revision}, {"open", one.is_open}});
        sessions.back().update(json_of_part(report, one.part));
    }
    const log_heading& log = report.heading;
    const bool has_session = log.sessions != 0;
    const bool has_operation = report.operation.bytes != 0;
    return lines_of({
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
        // Not known before every session was looked at.
        {"next_opening", report.is_complete ? json_of(report.taken_back) : json(nullptr)},
        {"operation", has_operation ? json_of_part(report, report.operation) : json(nullptr)},
        {"sessions", std::move(sessions)},
    });
}

std::string head_text(const undo_report& report) {
    const log_heading& log = report.heading;
    std::string text = fmt::format(
        "state      {}\ncondition  {}\n"
        "revision   {}, irreversible {}\n"
        "log        {} bytes in use, the file has {}\n",
        report.state.string(), condition_in_words(report.condition, std::to_string(report.writer)),
        log.revision, log.irreversible_revision, grouped(log.bytes_in_use),
        grouped(report.file_bytes));
    if (log.sessions == 0) return text + "sessions   none can be undone\n";
    return text + fmt::format("sessions   {} can be undone; the oldest, which keeps all of the log "
                              "after it, is of revision {}\n",
                              grouped(log.sessions), log.irreversible_revision + 1);
}

/// Beside a living writer an open session is work under way, and nothing is taken back.
std::string taken_back_text(const undo_report& report) {
    const rolled_back& back = report.taken_back;
    if (!report.is_complete || (back.sessions == 0 && !back.operation)) return {};
    const bool is_running = report.condition == condition::writer_running;
    return fmt::format("{} {} session(s){}, which gives revision {}\n",
                       is_running ? "not pushed:" : "the next opening for writing takes back",
                       grouped(back.sessions), back.operation ? " and the operation under way" : "",
                       back.revision);
}

std::string notes_text(const undo_report& report) {
    std::string text;
    if (!report.why_incomplete.empty()) text += "not known: " + report.why_incomplete + "\n";
    if (!report.why_no_types.empty()) text += "types are not known: " + report.why_no_types + "\n";
    return text;
}

void add_totals(text_table& table, const std::string& name, const undo_report& report,
                const logged_part& part) {
    owned_changes sum;
    for (const owned_changes& one : report.changes_in(part)) {
        sum.objects += one.objects;
        sum.created += one.created;
        sum.modified += one.modified;
        sum.removed += one.removed;
        sum.created_and_removed += one.created_and_removed;
    }
    table.add({name, grouped(part.bytes), grouped(part.records), grouped(sum.objects),
               grouped(sum.created), grouped(sum.modified), grouped(sum.removed),
               grouped(sum.created_and_removed)});
}

void add_owners(text_table& table, const undo_report& report, const logged_part& part) {
    for (const owned_changes& one : report.changes_in(part)) {
        std::vector<std::string> cells{"  " + one.owner, grouped(one.bytes), grouped(one.records)};
        if (one.is_type)
            for (const std::uint64_t figure :
                 {one.objects, one.created, one.modified, one.removed, one.created_and_removed})
                cells.push_back(grouped(figure));
        table.add(std::move(cells));
    }
    const std::uint64_t rest = part.mark_bytes + part.unused_bytes;
    if (rest != 0) table.add({"  marks and ends of chunks", grouped(rest), grouped(part.marks)});
}

std::string parts_text(const undo_report& report) {
    text_table table({"revision", "bytes", "records", "objects", "created", "modified", "removed",
                      "created and removed"});
    const auto add = [&](const std::string& name, const logged_part& part) {
        add_totals(table, name, report, part);
        add_owners(table, report, part);
    };
    for (const logged_session& one : report.sessions)
        add(fmt::format("{}{}", one.revision, one.is_open ? " (not pushed)" : ""), one.part);
    if (report.operation.bytes != 0) add("operation under way", report.operation);
    return table.text();
}

std::string as_text(const undo_report& report) {
    std::string text = head_text(report) + taken_back_text(report) + notes_text(report);
    if (report.sessions.empty() && report.operation.bytes == 0) return text;
    return text + "\n" + parts_text(report);
}

void print_undo(const std::string& state, bool is_json) {
    const undo_report report = read_undo(state);
    print_or_throw(is_json ? as_json(report) : as_text(report));
}

} // namespace

void declare_undo(command& verb) {
    declare_report(verb, "Print one JSON object instead of tables", print_undo);
}

} // namespace chainbase::inspect
