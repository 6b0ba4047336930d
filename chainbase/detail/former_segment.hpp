#pragma once

#include <chainbase/segment_place.hpp>

#include <filesystem>

namespace chainbase::detail {

/// Where a segment waits while another one takes its place, on a file system that cannot exchange
/// names (bulk_load/segment_replacement.hpp).
[[nodiscard]] inline std::filesystem::path former_segment(const segment_place& place) {
    return place.home() / "segment.former";
}

/// Whether who replaced a segment was killed in between: it still waits, and none is in its place.
[[nodiscard]] inline bool is_set_aside(const segment_place& place) {
    return place.why_foreign().empty() && !std::filesystem::exists(place.folder()) &&
           std::filesystem::exists(former_segment(place));
}

} // namespace chainbase::detail
