#pragma once

#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>

#include <chrono>
#include <filesystem>
#include <thread>

namespace chainbase::inspect {

/// The deadline for retrying what a writer disturbs: about a second from now, or as the caller
/// asks.
class patience {
public:
    explicit patience(std::chrono::milliseconds lasting = std::chrono::seconds(1))
        : until_(std::chrono::steady_clock::now() + lasting) {}

    [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() > until_; }
    static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

private:
    std::chrono::steady_clock::time_point until_;
};

/// Opens the segment of `state` read-only, even if it is being written or its writer died, and
/// returns the result of `look(segment&)`. Tries again while a writer opens, closes, cuts or grows
/// a file, or replaces the segment, which may look like damage.
///
/// Throws what opening a segment read-only and `look` throw; refusals of the file system become
/// io_error.
/// as io_error.
template <typename Look>
auto look_beside_writer(const std::filesystem::path& state, Look&& look) {
    const patience until;
    open_options how;
    how.mode = open_mode::read_only;
    how.allow_unclean = true;
    // A process that replaces a segment holds the lock only briefly and may have released it.
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
