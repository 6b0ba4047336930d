#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/checkpoint/publication.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace chainbase::checkpoint {

/// What a restore found.
struct restored {
    publication from;          ///< what was restored
    std::int64_t revision = 0; ///< where that, with the blocks of the redo log, ends
    std::uint64_t blocks = 0;  ///< of the redo log
    /// Why no block followed those; empty when the redo log ends there.
    std::string end_of_blocks;
    /// And one that had been synced was to follow: it is damaged.
    bool lost_blocks = false;
    /// What is wrong with the other checkpoint, which may have been newer; empty if nothing is.
    std::string damage;
    /// The publication that is whole and newer, but names pages that are not: nothing may be built
    /// upon it. Empty if there is none.
    std::filesystem::path unusable;
    std::uint64_t bytes = 0; ///< of pages that were read
    double seconds = 0;
};

/// Makes the files of a segment, all but its header, from the newest checkpoint in `folder` that is
/// whole, and the blocks of the redo log that follow it: `into` is made anew for it. What is in
/// `folder` is read only. The log in it is not rolled back: that is for who opens the segment.
///
/// Throws damaged_error when no checkpoint is whole, saying what is wrong with each; io_error,
/// out_of_space_error.
[[nodiscard]] restored restore(disk& from, const std::filesystem::path& folder,
                               const std::filesystem::path& into, const progress& tell = {});

/// The same from one publication of `folder`, without blocks of the redo log. Throws damaged_error
/// also when slots that it names were used again, since it was replaced meanwhile.
void restore_publication(disk& from, const std::filesystem::path& folder, const publication& of,
                         const std::filesystem::path& into);

/// Reads every block of the redo log in `folder` that follows a publication, and compares it with
/// its sum. Calls `found(text)` when one is damaged. Returns how many are whole. Throws io_error.
std::uint64_t check_blocks(disk& from, const std::filesystem::path& folder,
                           const publication& after,
                           const std::function<void(const std::string&)>& found);

/// What a copy holds.
struct copied {
    publication of;          ///< as it is published in the copy: no block of a redo log follows it
    std::uint64_t bytes = 0; ///< of pages that were copied
};

/// Copies the newest checkpoint in `folder` that is whole to the folder `into`, which is there and
/// empty: a folder of one checkpoint, with the slots that it names and nothing else, on storage
/// when this returns. Takes no lock and changes nothing in `folder`, where a writer may be at work,
/// in this process or in another one: what it replaced meanwhile is not copied, but what is there
/// then, so that the copy is of a checkpoint that was published when this was called, or later.
///
/// Every page is compared with its sum before it is written. Throws damaged_error, naming file and
/// offset, when the newest checkpoint is, and format_error when there is none; io_error (also when
/// a writer is faster than this, again and again), out_of_space_error, and what `tell` throws.
[[nodiscard]] copied copy_newest(disk& on, const std::filesystem::path& folder,
                                 const std::filesystem::path& into, const progress& tell = {});

} // namespace chainbase::checkpoint
