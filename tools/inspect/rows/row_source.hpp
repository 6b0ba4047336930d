#pragma once

#include <chainbase/offline/rows/type_rows.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Reads the objects of a state:
///
///     closed         where they are
///     being written  as of one block, in a snapshot: the writer waits for nothing; in turns with
///                    it, under the read lock, where there is no snapshot to read, as of one that
///                    changes objects outside of sessions all the time
///     writer died    rolled back to the last completed block, in a private copy; no writer can
///                    open the state meanwhile
///
/// It reads in turns. What belongs to one snapshot is of one block; when its block is undone, or
/// the log does not reach back to it any more, the next turn takes a new snapshot. Changes no file
/// except `readers`. Several threads may take turns, each its own.
class row_source {
public:
    /// Longest turn that reads many objects.
    static constexpr std::chrono::milliseconds slice{2};

    /// Opens the state or the checkpoint of that name (class named_state). Throws what that and
    /// opening a segment read-only throw; unclean_error when nothing can be read before the next
    /// opening restores a checkpoint.
    explicit row_source(std::filesystem::path state);
    ~row_source();
    row_source(const row_source&) = delete;
    row_source& operator=(const row_source&) = delete;

    /// Takes a turn: calls `look`, during which nothing changes. What it read may be gone
    /// afterwards. Calls it again when a part could not be read as of the snapshot's block, so
    /// `look` begins by forgetting what it has found; its last call counts. Throws what `look` and
    /// the constructor throw.
    void take_turn(const std::function<void()>& look);

    /// Takes a turn to read it.
    [[nodiscard]] std::int64_t current_revision();
    /// Later turns read a block that is at least as new as the newest one now, where they else go
    /// on with the block of the first. Throws what the constructor throws.
    void to_newest_block();

    /// @name In a turn, or after one, about it, if one thread takes them
    /// @{
    /// The types in the order of registration. Schemas keep their addresses.
    [[nodiscard]] std::vector<const type_schema*> types();
    /// Whether there is a type of this name.
    [[nodiscard]] bool has(const std::string& type) const;
    /// The objects of a type. Its schema is another one than before, at another address, when the
    /// state was made anew with another layout. Throws usage_error listing the types when there is
    /// none of that name; damaged_error.
    [[nodiscard]] rows::type_rows of(const std::string& type);
    [[nodiscard]] std::int64_t revision() const;
    /// What two turns read belongs to one moment if this is the same, and even, in both.
    [[nodiscard]] std::uint64_t changes() const;
    /// @}

    /// All objects, or also the files of their keys, are going to be read: brings them into memory
    /// meanwhile, if they are on a disk and memory has room (disk_pages.hpp).
    void read_all(bool and_keys) const;

    /// The name passed to the constructor.
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }
    /// The folder of the state, or of the checkpoint's state.
    [[nodiscard]] const std::filesystem::path& origin() const noexcept { return named_.origin(); }
    /// Whether its writer died, and the copy is rolled back.
    [[nodiscard]] bool is_rolled_back() const noexcept { return is_rolled_back_; }

private:
    class mapped;
    class in_place;
    class as_of_block;
    class left_behind;
    class current_buffers;

    [[nodiscard]] std::unique_ptr<mapped> open(bool with_snapshots) const;
    /// While an unclean_error is handled, which it throws on if there is nothing to read.
    [[nodiscard]] static std::unique_ptr<mapped> left_in(const std::filesystem::path& folder);
    [[nodiscard]] std::shared_lock<std::shared_mutex> begin_turn(bool with_snapshots);
    [[nodiscard]] const type_schema* kept(const type_schema& schema);

    std::filesystem::path state_;
    named_state named_;
    std::mutex begin_mutex_;  ///< held where a turn begins: one that waits for all comes next
    std::shared_mutex turns_; ///< shared in a turn
    std::unique_ptr<mapped> mapped_;
    std::uint64_t openings_ = 0; ///< of `mapped_`, which may be another one in each turn
    std::atomic<bool> is_rolled_back_{false};
    std::unique_ptr<current_buffers> buffers_; ///< those of `mapped_`
    std::mutex schemas_mutex_;
    std::deque<type_schema> schemas_;
};

} // namespace chainbase::inspect
