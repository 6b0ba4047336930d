#pragma once

#include <chainbase/segment_place.hpp>

#include <string>

namespace chainbase::detail {

/// Why the segment in `place` is of no use, so that opening restores a checkpoint, in words. Empty
/// when it is what its last writer left, or when only its owner can say. Throws access_error,
/// io_error.
[[nodiscard]] std::string why_restore(const segment_place& place);

} // namespace chainbase::detail
