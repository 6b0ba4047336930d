#include <chainbase/files.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/undo_report.hpp>
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
/// A writer waits for readers: so long may one look at a time.
constexpr auto most_locked = std::chrono::milliseconds(10);

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
    } catch (const error& problem) { // sessions and bytes are known all the same
        to.why_no_types = problem.what();
    }
}

/// Tells the lengths of the files that records may name; they are not read here. Without the
/// catalogue any window counts as as long as it can be.
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
        tell(one.first_window, one.schema.name + ".objects");
        tell(one.first_window + 1, one.schema.name + ".ids");
        for (std::uint32_t t = 0; t < one.schema.tables; ++t)
            tell(one.first_window + 2 + t, fmt::format("{}.{}.hash", one.schema.name, t));
    }
}

bool copy_between_changes(log_image& image) {
    const auto give_up = clock::now() + patience;
    do {
        try {
            if (image.copy(give_up)) return true;
        } catch (const io_error&) { // the file became shorter
        }
        std::this_thread::sleep_for(pause);
    } while (clock::now() < give_up);
    return false;
}

/// A turn among processes, which keeps out a writer that takes turns.
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

/// False also when this process gets no turn: it may not write to `readers`, or no slot is left.
bool copy_under_lock(const fs::path& state, log_image& image) {
    try {
        const reading_turn turn(state);
        return image.copy(clock::now() + most_locked);
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

/// Everything from the lowest open session up goes, with the operation.
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
        to.why_incomplete = "the writer did not pause for as long as a look at its sessions takes; "
                            "try again";
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
        if (window >= one.first_window && window - one.first_window < 2 + one.schema.tables)
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

} // namespace chainbase::inspect
