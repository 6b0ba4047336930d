#pragma once

#include <chainbase/segment/segment.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::test {

/// A range of a window that is in use.
struct window_part {
    const window* file;
    std::size_t begin; ///< at a page
    std::size_t bytes;
};

/// All ranges in use in the windows of a segment except the log's: header pages, slots below the
/// high-water marks, page runs below the end, id tables below the next id, the current areas of the
/// hash tables. Everything behind them is unused.
[[nodiscard]] std::vector<window_part> parts_in_use(const mapped_segment& of);

/// A copy of every byte in use in a segment's windows except the log's (parts_in_use). The oracle
/// of undo: two snapshots without a lasting change in between are equal.
class snapshot {
public:
    explicit snapshot(const mapped_segment& from);

    /// The first difference as "file: offset n", empty if there is none.
    [[nodiscard]] std::string difference(const snapshot& other) const;

    /// Of the bytes.
    [[nodiscard]] std::uint64_t digest() const noexcept;

    friend bool operator==(const snapshot&, const snapshot&);

private:
    struct part {
        std::string file;
        std::size_t bytes;
    };
    std::vector<part> parts_;
    std::vector<std::byte> content_;
};

} // namespace chainbase::test
