#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/checkpoint/publication.hpp>

#include <cstdint>
#include <filesystem>

namespace chainbase::checkpoint {

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
