#pragma once

#include <chainbase/segment.hpp>

#include <cstddef>
#include <vector>

namespace chainbase::test {

/// A stretch of a window that is in use.
struct window_part {
    const window* file;
    std::size_t begin; ///< at a page
    std::size_t bytes;
};

/// Everything in use in the windows of a segment but that of the log: header pages, slots below the
/// high-water marks, page runs below the end, id tables below the next id, the present areas of the
/// hash tables. What lies behind is fresh.
[[nodiscard]] std::vector<window_part> parts_in_use(const segment& of);

} // namespace chainbase::test
