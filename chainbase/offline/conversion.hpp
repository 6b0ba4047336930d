#pragma once

#include <archive/store.hpp>
#include <chainbase/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace chainbase::archive {

/// The result of a conversion.
struct conversion {
    store_kind from = store_kind::none; ///< `to` if an earlier call had switched the kind
    store_kind to = store_kind::none;
    std::map<std::string, std::uint64_t> rows; ///< by table, in the new kind
};

/// How a conversion is done.
struct conversion_options {
    store_options store;          ///< of a rocksdb store that it reads or makes
    std::size_t rows_at_once = 0; ///< in a batch; 0: as suits the kind
    /// Called with how many rows of how many are copied or compared, each a step of its own. What
    /// it throws ends the work as a kill does: the same call goes on.
    std::function<void(std::uint64_t done, std::uint64_t all)> tell;
};

/// Makes the archive of `state`, in `folder`, one of the kind `to`.
///
///     rocksdb, memory  <->  each other: all rows are copied
///     none              ->  either: nothing was handed over, so nothing is copied
///     either            ->  none: refused, finished objects are not put back into memory
///
/// Rows are copied table by table, in the order of ids, compared, and brought to storage; then the
/// archive is of the new kind, in one step; then the rows of the old kind go. Killed before that
/// step it is of the old kind, complete, and can be used as that; killed after it, of the new kind.
/// In either case the same call goes on, and skips what is there already. A call for the present
/// kind removes the remains of a conversion in either direction, which also cancels one.
///
/// For the state's writer, with nobody else at it: no store and no life cycle of the archive is
/// open, and of this state no session. Nothing may be undoable: rows in memory are objects of the
/// state and would be undone with it. Needs checkpoints.
///
/// Throws usage_error when one of these conditions does not hold, format_error when there is no
/// archive, damaged_error when the copy differs from its source, out_of_space_error, io_error.
conversion convert_archive(database& state, const std::filesystem::path& folder, store_kind to,
                           const conversion_options& options = {});

} // namespace chainbase::archive
