#pragma once

#include <chainbase/locks/reader_file.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <undo/snapshot_words.hpp>

#include <cstdint>
#include <filesystem>

namespace chainbase {

/// The snapshots of all processes, as the writer of the state sees them in the readers' file.
/// Bounded elsewhere: a reader can announce anything.
class snapshot_slots final : public snapshot_readers {
public:
    /// `file` must outlive it.
    explicit snapshot_slots(reader_file& file) noexcept
        : snapshot_readers(file.header().snapshots), file_(file) {}
    [[nodiscard]] need oldest(log_time floor) noexcept override;
    [[nodiscard]] bool any_within(log_time after, log_time to) noexcept override;

private:
    reader_file& file_;
};

/// A snapshot's place in the readers' file: while it is announced, the writer keeps the log that
/// the snapshot needs, within its bound. It ends with the process. Not thread-safe.
class snapshot_slot {
public:
    /// Claims a slot. Throws as reader_file does, and limit_error when all are taken.
    explicit snapshot_slot(const std::filesystem::path& readers);
    ~snapshot_slot();
    snapshot_slot(const snapshot_slot&) = delete;
    snapshot_slot& operator=(const snapshot_slot&) = delete;

    /// From now on the log from `need.time` on is kept.
    void announce(const snapshot_readers::need& need) noexcept;
    /// How often the state's segment was replaced by another one.
    [[nodiscard]] std::uint64_t replacements() const noexcept;
    /// How often a type was added to it.
    [[nodiscard]] std::uint64_t types_added() const noexcept;

private:
    process_of_origin origin_;
    reader_file file_;
    std::uint32_t number_ = 0;
};

} // namespace chainbase
