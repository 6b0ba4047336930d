#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <undo/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace chainbase {

class disk;

enum class open_mode {
    read_write, ///< the one writer; creates the state if there is none
    read_only,  ///< beside a writer or without one; changes nothing
};

/// What a state survives. Each promises what those before it do.
enum class durability {
    process,    ///< a kill: the last completed block is there. The machine: what was closed
    checkpoint, ///< the machine: the last checkpoint is there. Made at the ends of blocks (pushed
                ///< sessions), so it is an interval old, a block, and the time that writing takes
    commit,     ///< the machine: the last block that was synced is there, milliseconds after it was
                ///< pushed. Who must know waits (wait_until_durable)
};

/// How a state is opened. The window sizes count only when it is created.
struct open_options {
    open_mode mode = open_mode::read_write;
    /// Addresses per window: the most that one file can grow to. A multiple of 2 MiB.
    std::size_t window_bytes = default_window_bytes;
    /// Windows reserved: 26, and per type 2 and one per hashed key.
    std::size_t windows = 384;
    /// Whether opening and closing wait until what they promise is on storage. Without it a clean
    /// close protects against everything but a crash of the machine shortly after.
    bool sync = true;
    durability promise = durability::checkpoint;
    /// When checkpoints are made, besides the one when the state is closed.
    checkpoint::rhythm checkpoints;
    /// Called while a checkpoint is restored.
    checkpoint::progress restoring;
    /// Where checkpoints are; null: the operating system's.
    disk* checkpoint_disk = nullptr;
    /// Where a segment is put that is made, or restored: in a folder of its own in this one, such
    /// as /dev/shm; empty: in the state folder, or where it was before. Needs checkpoints, where
    /// files are lost with the machine.
    std::string memory_folder;
    /// The group, by name or number, whose members may open the state read-only; empty: nobody but
    /// its owner may. Counts when the state is created, and must be the same later, if given.
    std::string readers_group;
    /// Writing: say what of this machine will hurt the state (doctor.hpp), in the log, a line each.
    bool advise = true;
    /// Read-only: also map a state whose writer died, as it is, in the middle of an operation.
    /// Takes no turns with a writer: read locks protect from nothing.
    bool allow_unclean = false;
    /// Read-only: how long to wait for another writer when one died in the middle of a change.
    /// While one is there, rolling back or restoring, it does not count.
    std::chrono::milliseconds wait_for_writer{5'000};

#ifdef __SANITIZE_THREAD__ // leaves few addresses to map at
    static constexpr std::size_t default_window_bytes = std::size_t{256} << 20;
#else
    static constexpr std::size_t default_window_bytes = std::size_t{64} << 30;
#endif
};

/// How a state came to be what it is when it was opened.
struct opening {
    enum class way {
        created,
        attached,    ///< it was closed properly
        rolled_back, ///< its writer died: to the last completed block
        restored,    ///< from a checkpoint, which then was rolled back, too
    };
    way how = way::attached;
    revision_number revision = 0; ///< from which it goes on
    /// Of a restored one: which checkpoint, how many blocks of the redo log after it, why, and what
    /// is wrong with the other checkpoint or with the next block.
    std::uint64_t generation = 0;
    std::uint64_t blocks = 0;
    std::string why;
};

} // namespace chainbase
