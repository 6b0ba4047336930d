#pragma once

#include <chainbase/fwd.hpp>
#include <pool_allocator/pool.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace chainbase {

/// How the memory of one type is used.
struct type_statistics {
    std::string name;
    std::uint64_t objects = 0;
    std::uint64_t next_id = 0;
    usage nodes;  ///< the window of its objects
    usage ids;    ///< the id table
    usage tables; ///< the hashed and btree keys, summed

    [[nodiscard]] usage total() const noexcept {
        usage sum = nodes;
        sum += ids;
        sum += tables;
        return sum;
    }
};

/// How the memory of one class of buffers is used.
struct buffer_statistics {
    std::string name; ///< the window's
    usage bytes;
};

/// How every byte of a segment is used, and the state's revisions. The parts sum to `total`
/// exactly: header + log + buffers + types = total, and within each usage its own parts.
struct segment_statistics {
    std::int64_t revision = 0;
    std::int64_t committed_revision = 0;
    std::uint64_t sessions = 0;
    std::uint64_t changes = 0; ///< operations, and sessions begun and ended, ever
    bool consistent = false;   ///< read between changes, not in the middle of one
    std::uint64_t header = 0;  ///< bytes of the segment's header
    usage log;
    std::vector<buffer_statistics> buffers;
    std::vector<type_statistics> types;
    std::uint64_t total = 0;

    /// Reads the words of all windows, even while another process writes the state: takes no lock,
    /// and repeats (for at most `patience`) while an operation runs. Only header words are read,
    /// never objects. Throws what refreshing the mappings throws, and damaged_error when the log's
    /// words, left by a dead writer, point outside of its file.
    static segment_statistics read(segment& from,
                                   std::chrono::milliseconds patience = std::chrono::seconds(1));
    /// The same for a state that this process writes, whose mappings need no refreshing.
    static segment_statistics of_writer(const segment& from);
};

} // namespace chainbase
