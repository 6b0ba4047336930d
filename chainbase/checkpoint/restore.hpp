#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/checkpoint/publication.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace chainbase::checkpoint {

/// The result of a restore.
struct restored {
    publication from;          ///< the restored checkpoint
    std::int64_t revision = 0; ///< the revision after the redo log's blocks
    std::uint64_t blocks = 0;  ///< applied from the redo log
    /// Why no further block was applied; empty at the regular end of the redo log.
    std::string end_of_blocks;
    /// The next block is damaged although it had been synced.
    bool lost_blocks = false;
    /// What is wrong with the other checkpoint, which may have been newer; empty if nothing.
    std::string damage;
    /// A newer publication that is whole itself but names damaged pages: no checkpoint may build
    /// upon it. Empty if there is none.
    std::filesystem::path unusable;
    std::uint64_t bytes = 0; ///< of pages that were read
    double seconds = 0;
};

/// Creates the files of a segment, except its header, from the newest complete checkpoint in
/// `folder` and the redo log's blocks that follow it. `into` is created anew; `folder` is only
/// read. The undo log is not rolled back: opening the segment does that.
///
/// Throws damaged_error when no checkpoint is complete, saying what is wrong with each; io_error,
/// out_of_space_error.
[[nodiscard]] restored restore(disk& from, const std::filesystem::path& folder,
                               const std::filesystem::path& into, const progress& tell = {});

/// Restores one publication of `folder`, without the redo log. Also throws damaged_error when slots
/// that it names were reused because it was replaced in the meantime.
void restore_publication(disk& from, const std::filesystem::path& folder, const publication& of,
                         const std::filesystem::path& into);

/// Reads every block of the redo log in `folder` that follows a publication, and compares it with
/// its sum. Calls `found(text)` when one is damaged. Returns how many are whole. Throws io_error.
std::uint64_t check_blocks(disk& from, const std::filesystem::path& folder,
                           const publication& after,
                           const std::function<void(const std::string&)>& found);

/// The content of a copy.
struct copied {
    publication of;          ///< as published in the copy: no redo-log block follows it
    std::uint64_t bytes = 0; ///< of pages that were copied
};

/// Copies the newest complete checkpoint in `folder` to the existing, empty folder `into`: a folder
/// of one checkpoint with only the slots that it names, on storage when this returns. Takes no lock
/// and changes nothing in `folder`, where a writer may be at work in this or another process. If
/// the writer replaces the checkpoint meanwhile, the newer one is copied, so the copy is of a
/// checkpoint published at the time of the call or later.
///
/// Every page is compared with its sum before it is written. Throws damaged_error, naming file and
/// offset, when the newest checkpoint is damaged, and format_error when there is none; io_error
/// (also when a writer keeps replacing the checkpoints), out_of_space_error, and what `tell`
/// throws.
[[nodiscard]] copied copy_newest(disk& on, const std::filesystem::path& folder,
                                 const std::filesystem::path& into, const progress& tell = {});

} // namespace chainbase::checkpoint
