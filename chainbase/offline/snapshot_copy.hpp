#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <undo/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace chainbase {

class snapshot_segment;

/// Copies a state, closed or being written, as it is at its newest block, into a new state that
/// nothing can be undone in. Takes no lock, and the writer waits for nothing.
///
///     snapshot_copy source("S");
///     source.make("copy", {});             // an ordinary closed state, when it returns
///
/// The pages in use are copied as they are in a snapshot, and so is the kind of an archive without
/// files of its own (archive::store_kind memory and none). Rows in files of an archive are not
/// bound to a block: archive::back_up copies those. The copy has an identity of its own; windows,
/// readers' group and hash seeds are those of the state. Damage is copied, too.
///
/// One thread at a time. No process may convert the archive meanwhile.
class snapshot_copy {
public:
    /// Takes a snapshot of the state in that folder. Throws what snapshot_segment::take throws.
    explicit snapshot_copy(std::filesystem::path state);
    ~snapshot_copy();

    /// The readers' group of the state, as open_options::readers_group.
    [[nodiscard]] std::string readers_group() const;

    struct result {
        revision_number revision = 0; ///< of the block
        std::size_t types = 0;
        std::uint64_t objects = 0;
        std::uint64_t bytes = 0; ///< that the files of the copy take
    };
    /// Makes the copy in the folder `to`, which is not there, or empty. When it returns, all of it
    /// is on storage. If the snapshot gets too old, or its block is undone, begins again with a
    /// newer one, some times. `tell` is called after every 2 MiB or less; what it throws ends the
    /// work.
    ///
    /// Throws too_old_error when each snapshot got too old, busy_error when the writer rolls back
    /// all the time, damaged_error, out_of_space_error, io_error, and what creating a state
    /// throws. After an exception the caller must remove `to`.
    [[nodiscard]] result make(const std::filesystem::path& to, const checkpoint::progress& tell);

private:
    [[nodiscard]] result try_to_make(const std::filesystem::path& to,
                                     const checkpoint::progress& tell);

    std::filesystem::path state_;
    std::unique_ptr<snapshot_segment> from_; ///< null when it cannot be read on
};

} // namespace chainbase
