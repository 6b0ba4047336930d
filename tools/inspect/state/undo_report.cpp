#include <chainbase/locks/process_lock.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/undo_report.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>
#include <undo/log_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

using clock = log_image::clock;

constexpr auto patience = std::chrono::seconds(1);
constexpr auto pause = std::chrono::microseconds(500);
/// Longest hold of the read lock, during which a writer waits.
constexpr auto max_locked = std::chrono::milliseconds(10);

void describe_state(const fs::path& state, const segment_header& header, undo_report& to) {
    const lock_report::of_writer writer = lock_report::read(state).writer;
    to.state = state;
    to.writer = writer.process;
    to.condition = writer.is_alive     ? condition::writer_running
                   : header.clean != 0 ? condition::closed
                                       : condition::writer_died;
}

void read_types(undo_report& to) {
    try {
        to.types = catalogue::read(to.segment);
    } catch (const error& problem) { // sessions and bytes are known without types
        to.why_no_types = problem.what();
    }
}

/// Sets the lengths of the files that records may name, without reading them. Without the catalogue
/// each window counts with its maximum length.
void tell_lengths(const undo_report& of, const address_space& addresses) {
    if (!of.why_no_types.empty())
        for (std::size_t w = 0; w < addresses.windows(); ++w)
            addresses.set_file_bytes(w, addresses.window_bytes());
    const auto tell = [&](std::uint32_t window, const std::string& name) {
        std::error_code missing;
        const std::uint64_t bytes = fs::file_size(of.segment / name, missing);
        if (!missing && window < addresses.windows()) addresses.set_file_bytes(window, bytes);
    };
    for (std::uint32_t c = 0; c < size_classes::class_count; ++c)
        tell(size_classes::first_window + c,
             fmt::format("buffers.{}", size_classes::bytes_of_class(c)));
    tell(size_classes::first_window + size_classes::class_count, "buffers.runs");
    for (const catalogue::entry& one : of.types.entries()) {
        std::uint32_t window = one.first_window;
        for (const std::string& file : one.schema.files())
            tell(window++, file);
    }
}

bool copy_between_changes(log_image& image) {
    const auto give_up = clock::now() + patience;
    do {
        try {
            if (image.copy(give_up)) return true;
        } catch (const io_error&) { // the file was truncated
        }
        std::this_thread::sleep_for(pause);
    } while (clock::now() < give_up);
    return false;
}

/// A read turn, which keeps out the writer.
class reading_turn {
public:
    explicit reading_turn(const fs::path& state)
        : turns_(state, process_lock::role::reader, std::chrono::milliseconds(0)),
          slot_(turns_.lock_shared()) {}
    reading_turn(const reading_turn&) = delete;
    reading_turn& operator=(const reading_turn&) = delete;
    ~reading_turn() { turns_.unlock_shared(slot_); }

private:
    process_lock turns_;
    process_lock::slot_number slot_;
};

/// False also without a turn: this process may not write to `readers`, or all slots are in use.
bool copy_under_lock(const fs::path& state, log_image& image) {
    try {
        const reading_turn turn(state);
        return image.copy(clock::now() + max_locked);
    } catch (const error&) {
        return false;
    }
}

bool copy(const undo_report& of, log_image& image) {
    if (of.condition != condition::writer_running) return image.copy(clock::time_point::max());
    return copy_between_changes(image) || copy_under_lock(of.state, image);
}

std::optional<log_heading> heading_of(log_image& image) {
    const auto give_up = clock::now() + patience;
    for (;;) {
        const std::optional<log_heading> found = image.heading();
        if (found || clock::now() > give_up) return found;
    }
}

/// Everything from the lowest open session up is undone, with the operation.
rolled_back taken_back(const undo_report& report, bool operation) {
    rolled_back all{operation, 0, report.heading.revision};
    for (const logged_session& one : report.sessions)
        if (one.is_open || all.sessions != 0) ++all.sessions;
    all.revision -= static_cast<revision_number>(all.sessions);
    return all;
}

void read_contents(const log_image& image, undo_report& to) {
    tell_lengths(to, image.addresses());
    log_check check(image.addresses(), image.file());
    check.require_sound();
    (void)check.require_all_records();
    const log_contents found(image.file(), image.addresses().window_bytes());
    to.sessions = found.sessions();
    to.operation = found.operation();
    to.taken_back = taken_back(to, found.has_operation());
}

void describe_log(log_image& image, undo_report& to) {
    to.is_consistent = copy(to, image);
    to.heading = to.is_consistent ? image.copied() : heading_of(image).value_or(log_heading{});
    to.file_bytes = image.file().bytes();
    if (!to.is_consistent) {
        to.why_incomplete = "the writer did not pause long enough to read its sessions; try again";
        return;
    }
    to.is_complete = image.is_complete();
    if (image.has_sessions()) read_contents(image, to);
    if (!to.is_complete)
        to.why_incomplete =
            fmt::format("the {} oldest of {} sessions were not read: the writer "
                        "would have waited for too long",
                        to.heading.sessions - to.sessions.size(), to.heading.sessions);
}

undo_report read_once(const fs::path& state, undo_detail how) {
    undo_report report;
    report.segment = segment_folder(state);
    const segment_header header = segment_header_in(report.segment);
    if (is_of_another_boot(header))
        throw unclean_error(state.string() +
                            ": the machine restarted since it was written, and its log is of no "
                            "use; `chainbase-inspect info` says what the next opening does");
    describe_state(state, header, report);
    read_types(report);
    log_image image(report.segment, header, report.condition == condition::writer_running);
    if (how == undo_detail::contents)
        describe_log(image, report);
    else
        report.heading = heading_of(image).value_or(log_heading{});
    return report;
}

} // namespace

const type_schema* undo_report::type_of(std::uint32_t window) const noexcept {
    for (const catalogue::entry& one : types.entries())
        if (window >= one.first_window && window - one.first_window < one.schema.windows())
            return &one.schema;
    return nullptr;
}

std::string undo_report::owner_of(std::uint32_t window) const {
    if (const type_schema* type = type_of(window)) return type->name;
    const bool is_buffers = window >= size_classes::first_window &&
                            window - size_classes::first_window < size_classes::window_count;
    return is_buffers ? "buffers" : "window " + std::to_string(window);
}

std::vector<owned_changes> undo_report::changes_in(const logged_part& part) const {
    std::vector<owned_changes> all;
    for (const logged_window& one : part.windows) {
        const std::string owner = owner_of(one.window);
        auto found = std::ranges::find(all, owner, &owned_changes::owner);
        if (found == all.end()) found = all.insert(found, {owner, type_of(one.window) != nullptr});
        found->records += one.records;
        found->bytes += one.bytes;
        found->objects += one.objects();
        found->created += one.created;
        found->modified += one.modified;
        found->removed += one.removed;
        found->created_and_removed += one.created_and_removed;
    }
    std::ranges::stable_partition(all, &owned_changes::is_type);
    return all;
}

undo_report read_undo(const fs::path& state, undo_detail how) {
    const auto give_up = clock::now() + patience;
    for (;;) {
        try {
            return read_once(state, how);
        } catch (const error&) {
            // A writer that opens, closes or grows a file at this moment may look like damage.
            if (!file_lock::is_held(state / "lock") || clock::now() > give_up) throw;
        }
        std::this_thread::sleep_for(pause);
    }
}

// The JSON members of each part of the report, in order.
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

std::string head_text(const undo_report& report) {
    const log_heading& log = report.heading;
    std::string text = fmt::format(
        "state      {}\ncondition  {}\n"
        "revision   {}, irreversible {}\n"
        "log        {} in use, the file has {}\n",
        report.state.string(), condition_in_words(report.condition, std::to_string(report.writer)),
        log.revision, log.irreversible_revision, bytes_in_words(log.bytes_in_use),
        bytes_in_words(report.file_bytes));
    if (log.sessions == 0) return text + "sessions   none can be undone\n";
    return text + fmt::format("sessions   {} can be undone; the oldest, which keeps all of the log "
                              "after it, is of revision {}\n",
                              grouped(log.sessions), log.irreversible_revision + 1);
}

/// Beside a living writer an open session is work in progress, and nothing is undone.
std::string taken_back_text(const undo_report& report) {
    const rolled_back& back = report.taken_back;
    if (!report.is_complete || (back.sessions == 0 && !back.operation)) return {};
    const bool is_running = report.condition == condition::writer_running;
    return fmt::format("{} {} session(s){}, to revision {}\n",
                       is_running ? "not pushed:" : "the next opening for writing rolls back",
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
    table.add({name, bytes_in_words(part.bytes), grouped(part.records), grouped(sum.objects),
               grouped(sum.created), grouped(sum.modified), grouped(sum.removed),
               grouped(sum.created_and_removed)});
}

void add_owners(text_table& table, const undo_report& report, const logged_part& part) {
    for (const owned_changes& one : report.changes_in(part)) {
        std::vector<std::string> cells{"  " + one.owner, bytes_in_words(one.bytes),
                                       grouped(one.records)};
        if (one.is_type)
            for (const std::uint64_t figure :
                 {one.objects, one.created, one.modified, one.removed, one.created_and_removed})
                cells.push_back(grouped(figure));
        table.add(std::move(cells));
    }
    const std::uint64_t rest = part.mark_bytes + part.unused_bytes;
    if (rest != 0)
        table.add({"  marks and ends of chunks", bytes_in_words(rest), grouped(part.marks)});
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
    std::string text = head_text(report) + taken_back_text(report) + notes_text(report);
    if (report.sessions.empty() && report.operation.bytes == 0) return text;
    return text + "\n" + parts_text(report);
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
        // Unknown until every session was read.
        {"next_opening", report.is_complete ? json_of(report.taken_back) : json(nullptr)},
        {"operation", has_operation ? json_of_part(report, report.operation) : json(nullptr)},
        {"sessions", std::move(sessions)},
    });
}

void declare_undo(command& verb) {
    declare_report(verb, "Print one JSON object instead of tables",
                   [](const std::string& state) { return read_undo(state); });
}

} // namespace chainbase::inspect
