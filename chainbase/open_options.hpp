#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <undo/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace chainbase {

class disk;
class state_migration;

enum class open_mode {
    read_write, ///< the one writer; creates the state if there is none
    read_only,  ///< beside a writer or without one; changes nothing
};

/// Which failures a state survives. Each level includes those before it. "The machine" stands for a
/// crash of the machine or a loss of power.
enum class durability {
    process,    ///< a kill restores the last completed block; the machine: only a closed state
    checkpoint, ///< the machine restores the last checkpoint. Checkpoints are made at block ends
                ///< (pushed sessions): at most an interval, a block and the writing time old
    commit,     ///< the machine restores the last synced block. Blocks are synced milliseconds
                ///< after the push; wait_until_durable() waits for it
};

/// How a state is opened. The window sizes count only when it is created.
struct open_options {
    open_mode mode = open_mode::read_write;
    /// The most that one file can grow to, a multiple of 2 MiB. The default is less, also if given,
    /// of copies, of loads, where the process may have few addresses (window_that_fits).
    std::size_t window_bytes = default_window_bytes;
    /// Windows to reserve. A state needs 26, plus 2 for each type and 1 for each hashed or btree
    /// key.
    std::size_t windows = 384;
    /// Whether opening and closing wait until their changes are on storage. Without it a closed
    /// state can be lost to a crash of the machine shortly after closing, and to nothing else.
    bool sync = true;
    chainbase::durability durability = durability::checkpoint;
    /// When checkpoints are made, besides the one at close.
    checkpoint::schedule checkpoints;
    /// Called while a checkpoint is restored.
    checkpoint::progress restoring;
    /// The disk that checkpoints are written to; null: the operating system's files.
    disk* checkpoint_disk = nullptr;
    /// Where the segment is: in a folder of its own within this one, such as /dev/shm; "none": in
    /// the state folder. Requires checkpoints if its files do not survive a restart of the machine.
    /// Empty: where it was, and a new one in /dev/shm if it fits there (opening.md, "Where the
    /// segment is").
    std::string memory_folder;
    /// The size that a new state will have, if that is known: it counts where its place is chosen.
    std::uint64_t expected_bytes = 0;
    /// How many bytes of log the writer keeps for readers of snapshots, beyond what can be undone.
    std::uint64_t snapshot_log_bytes = std::uint64_t{64} << 20;
    /// The group, by name or number, whose members may open the state read-only; empty: only its
    /// owner may. Set when the state is created; if given later, it must be the same.
    std::string readers_group;
    /// When writing: brings a state whose types were declared otherwise to those of the program
    /// (chainbase/offline/migration.hpp). Null: add_type() refuses such a type.
    state_migration* migrate = nullptr;
    /// When writing: log a line for each setting of this machine that endangers or slows the state
    /// (doctor.hpp).
    bool advise = true;
    /// For tests and debugging: every call about objects requires that its thread holds the lock
    /// that it needs (database::with_read_lock, with_write_lock), and throws usage_error otherwise.
    bool check_locks = false;
    /// Read-only: also map a state whose writer died in the middle of an operation, as it is. Does
    /// not lock out a writer: read locks have no effect.
    bool allow_unclean = false;
    /// Read-only: how long to wait for another writer when one died in the middle of a change. Time
    /// in which a writer is rolling back or restoring does not count.
    std::chrono::milliseconds wait_for_writer{5'000};

#ifdef __SANITIZE_THREAD__ // leaves few addresses to map
    static constexpr std::size_t default_window_bytes = std::size_t{256} << 20;
#else
    static constexpr std::size_t default_window_bytes = std::size_t{64} << 30;
#endif
};

/// The outcome of opening a state.
struct opening {
    enum class way {
        created,
        attached,    ///< the state was closed
        rolled_back, ///< the writer had died; rolled back to the last completed block
        restored,    ///< restored from a checkpoint and rolled back to its last completed block
    };
    way how = way::attached;
    revision_number revision = 0; ///< the revision after opening
    /// If restored: the checkpoint's generation, the blocks of the redo log applied after it, and
    /// the reason, including damage of the other checkpoint or of the next block.
    std::uint64_t generation = 0;
    std::uint64_t blocks = 0;
    std::string why;
};

} // namespace chainbase
