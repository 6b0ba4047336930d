#pragma once

#include <chainbase/files.hpp>
#include <chainbase/segment.hpp>
#include <pool_allocator/error.hpp>

#include <chrono>
#include <filesystem>
#include <thread>

namespace chainbase::inspect {

/// Until when something that a writer disturbs is tried again: about a second from now, or as long
/// as its caller wants.
class patience {
public:
    explicit patience(std::chrono::milliseconds lasting = std::chrono::seconds(1))
        : until_(std::chrono::steady_clock::now() + lasting) {}

    [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() > until_; }
    static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

private:
    std::chrono::steady_clock::time_point until_;
};

/// Opens the segment of `state` read-only, also one that is written or was left behind, and returns
/// what `look(segment&)` does. Beside a writer that opens, closes, cuts or grows a file at that
/// moment, or replaces the segment, which may look like damage, it tries again.
///
/// Throws what opening a segment read-only and what `look` throw, with what the file system refuses
/// as io_error.
template <typename Look>
auto look_beside_writer(const std::filesystem::path& state, Look&& look) {
    const patience until;
    open_options how;
    how.mode = open_mode::read_only;
    how.allow_unclean = true;
    // A process that replaces a segment holds the lock for a moment only, and may have let it go.
    for (int without_writer = 0;; patience::pause()) {
        try {
            segment from(state, how);
            return look(from);
        } catch (const error&) {
            if (!file_lock::is_held(state / "lock")) ++without_writer;
            if (without_writer == 3 || until.is_over()) throw;
        } catch (const std::filesystem::filesystem_error& problem) {
            throw io_error(state.string() + ": " + problem.what());
        }
    }
}

} // namespace chainbase::inspect
