#include <tools/inspect/state/undo.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

namespace {

std::string condition_text(const undo_report& report) {
    switch (report.condition) {
    case condition::closed:
        return "closed properly";
    case condition::writer_running:
        return fmt::format("a writer is running (process {})", report.writer);
    case condition::writer_died:
        return fmt::format("the last writer (process {}) died", report.writer);
    }
    return "unknown";
}

std::string heading(const undo_report& report) {
    const log_heading& log = report.heading;
    std::string text = fmt::format("state      {}\ncondition  {}\n"
                                   "revision   {}, irreversible {}\n"
                                   "log        {} bytes in use, the file has {}\n",
                                   report.state.string(), condition_text(report), log.revision,
                                   log.irreversible_revision, grouped(log.bytes_in_use),
                                   grouped(report.file_bytes));
    if (log.sessions == 0) return text + "sessions   none can be undone\n";
    return text + fmt::format("sessions   {} can be undone; the oldest, which keeps all of the log "
                              "after it, is of revision {}\n",
                              grouped(log.sessions), log.irreversible_revision + 1);
}

/// Of an open session the next opening's concern, not of who only looks at a living writer.
std::string taken_back_text(const undo_report& report) {
    const rolled_back& back = report.taken_back;
    if (!report.is_complete || (back.sessions == 0 && !back.operation)) return {};
    const bool is_running = report.condition == condition::writer_running;
    return fmt::format("{} {} session(s){}, which gives revision {}\n",
                       is_running ? "not pushed:" : "the next opening for writing takes back",
                       grouped(back.sessions), back.operation ? " and the operation under way" : "",
                       back.revision);
}

std::string notes(const undo_report& report) {
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

} // namespace

std::string as_text(const undo_report& report) {
    std::string text = heading(report) + taken_back_text(report) + notes(report);
    if (report.sessions.empty() && report.operation.bytes == 0) return text;
    return text + "\n" + parts_text(report);
}

} // namespace chainbase::inspect
