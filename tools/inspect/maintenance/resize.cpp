#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/maintenance/rebuild.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

struct resize_call : state_call {
    std::uint64_t window_bytes = 0; ///< 0: unchanged
    std::uint64_t windows = 0;      ///< 0: unchanged
    bool only_tells = false;
};

/// The size limits of a state, and its current size.
struct limits {
    std::uint64_t window_bytes = 0;
    std::uint64_t windows = 0;
    std::uint64_t largest_file = 0;
    std::string largest_name;
    std::uint64_t windows_used = 0;
};

limits limits_of(const std::string& state) {
    open_options reading;
    reading.mode = open_mode::read_only;
    segment from(state, reading);
    limits found{from.header().window_bytes, from.header().windows, 0, "", 0};
    const auto look = [&](const window& file) {
        found.windows_used = std::max<std::uint64_t>(found.windows_used, file.index() + 1);
        if (file.bytes() <= found.largest_file) return;
        found.largest_file = file.bytes();
        found.largest_name = file.name();
    };
    look(from.log_file());
    from.buffers().each_window(look);
    for (const auto& type : from.windows())
        type->each(look);
    return found;
}

void require_possible(const limits& now, const limits& wanted) {
    constexpr std::uint64_t unit = std::uint64_t{2} << 20;
    if (wanted.window_bytes % unit != 0)
        throw usage_error(fmt::format("--window-bytes {}: a multiple of 2 MiB ({}) is needed",
                                      wanted.window_bytes, unit));
    if (wanted.window_bytes < now.largest_file)
        throw usage_error(fmt::format("--window-bytes {}: {} has {} bytes already",
                                      wanted.window_bytes, now.largest_name, now.largest_file));
    if (wanted.windows < now.windows_used)
        throw usage_error(
            fmt::format("--windows {}: {} are in use already", wanted.windows, now.windows_used));
}

void require_no_sessions(const state_report& state, const resize_call& asked) {
    if (state.sessions != 0)
        throw usage_error(fmt::format("{}: {} block(s) after revision {} can still be undone, "
                                      "and their undo log depends on the size of the windows; "
                                      "commit or undo them in the program first",
                                      asked.state, state.sessions, state.irreversible_revision));
}

/// Replaces the header of a segment without another writer.
void store(const std::string& state, const limits& wanted) {
    const fs::path at = fs::absolute(state);
    const file_lock lock(at / "lock", false);
    const fs::path folder = segment_place(at).folder();
    require_possible(limits_of(state), wanted); // repeated under the lock
    if (read_state(state).sessions != 0)
        throw locked_error(state + ": another process wrote to it meanwhile; nothing was changed");
    const auto found = chainbase::detail::header_in(folder);
    if (!found || found->clean == 0)
        throw locked_error(state + ": another process opened it for writing meanwhile; nothing "
                                   "was changed. Call again when that process has ended");
    segment_header header = *found;
    header.window_bytes = wanted.window_bytes;
    header.windows = static_cast<std::uint32_t>(wanted.windows);
    header.checksum = chainbase::detail::static_checksum(header);
    header.generation = 0; // the checkpoint has the old limits
    process_lock turns(at, process_lock::role::writer, std::chrono::milliseconds(0));
    turns.lock();
    turns.replaced_segment();
    chainbase::detail::write_header(folder, header);
    turns.unlock();
}

/// Opens a state whose segment is in memory, as its program will: a segment that has outgrown its
/// place moves to the disk. Returns in words what moved; nothing if it stays.
std::string move_if_outgrown(const std::string& state) {
    const segment_place before(fs::absolute(state));
    if (!before.is_in_memory() || !before.is_lost_with_the_machine()) return {};
    open_options how;
    how.advise = false;
    segment open(state, how);
    open.close();
    return segment_place(fs::absolute(state)).home() == before.home() ? "" : open.opened().why;
}

std::string resize_text(const resize_call& asked, const limits& now, const limits& wanted,
                        bool is_done, const std::string& moved) {
    return fmt::format("{}\n  bytes of a file at most  {} ({}), was {} ({}); the largest, {}, has "
                       "{}\n  files at most            {}, was {}; {} are in use\n{}{}",
                       asked.state, wanted.window_bytes, bytes_in_words(wanted.window_bytes),
                       now.window_bytes, bytes_in_words(now.window_bytes), now.largest_name,
                       bytes_in_words(now.largest_file), wanted.windows, now.windows,
                       now.windows_used, moved.empty() ? "" : "  " + moved + "\n",
                       is_done ? "" : "nothing was changed\n");
}

std::string resize_json(const resize_call& asked, const limits& now, const limits& wanted,
                        bool is_done, const std::string& moved) {
    return line_of({{"schema_version", 1},
                    {"state", asked.state},
                    {"done", is_done},
                    {"moved", text_or_null(moved)},
                    {"window_bytes", wanted.window_bytes},
                    {"windows", wanted.windows},
                    {"window_bytes_before", now.window_bytes},
                    {"windows_before", now.windows},
                    {"windows_used", now.windows_used},
                    {"largest_file", {{"name", now.largest_name}, {"bytes", now.largest_file}}}}) +
           "\n";
}

exit_code run_resize(const resize_call& asked) {
    const limits now = limits_of(asked.state);
    limits wanted = now;
    if (asked.window_bytes != 0) wanted.window_bytes = asked.window_bytes;
    if (asked.windows != 0) wanted.windows = asked.windows;
    require_possible(now, wanted);
    const bool differs = wanted.window_bytes != now.window_bytes || wanted.windows != now.windows;
    const bool is_done = differs && !asked.only_tells;
    std::string moved;
    if (is_done) {
        const state_report state = read_state(asked.state);
        require_at_rest(state);
        require_no_sessions(state, asked);
        // Throws what opening would if the address space cannot be reserved.
        static_cast<void>(address_space(wanted.window_bytes, wanted.windows));
        moved = move_if_outgrown(asked.state); // while its checkpoint has all of it
        store(asked.state, wanted);
        renew_checkpoint(asked.state);
    }
    print_or_throw(asked.json ? resize_json(asked, now, wanted, is_done, moved)
                              : resize_text(asked, now, wanted, is_done, moved));
    return exit_code::done;
}

} // namespace

void declare_resize(command& verb) {
    const auto asked = declare_look<resize_call>(verb, run_resize);
    verb.add_option_function<std::string>(
            "--window-bytes",
            [asked](const std::string& size) { asked->window_bytes = byte_size_of(size); },
            "The size that one file can grow to, such as 64GiB, or in bytes")
        .value_name("BYTES");
    verb.add_option(
            "--windows", asked->windows,
            "How many files there can be: 26, and per type 2 and one per hashed or btree key")
        .whole_number(1, std::uint64_t{1} << 20);
    verb.add_flag("--dry-run", asked->only_tells, "Only show the present and the new limits");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of text");
}

} // namespace chainbase::inspect
