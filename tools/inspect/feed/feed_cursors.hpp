#pragma once

#include <chainbase/feed/feed_files.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Who follows a state's feed, and how far each is.
struct feed_cursors {
    struct cursor {
        std::string name;
        feed::feed_cursor::state now;
        std::uint64_t behind; ///< bytes
    };

    feed::feed_position begin = 0; ///< of the oldest file
    feed::feed_position end = 0;   ///< up to where followers may read
    std::vector<cursor> cursors;   ///< by name; none: nothing is written

    /// Throws io_error, access_error, format_error, damaged_error.
    [[nodiscard]] static feed_cursors read(const std::filesystem::path& state);
};

/// The report as a text table.
[[nodiscard]] std::string as_text(const feed_cursors& found);
/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const feed_cursors& found);

} // namespace chainbase::inspect
