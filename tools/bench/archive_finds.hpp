#pragma once

#include <archive/lifecycle.hpp>
#include <archive/rocksdb_store.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/chains/social/objects.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::bench {

/// Archived comments, drawn evenly and put in a random order, to be looked for as a chain's rules
/// do: in memory first, then in the archive.
class archive_finds {
    using comments = archive::lifecycle<social::comment_object>;

public:
    /// Draws up to `count` of the store's table of comments; reads all of it.
    archive_finds(const archive::store& rows, archive::table_id table, std::uint32_t count);

    /// Lookups by key and by id that find, and by key that do not. Each is made twice and timed the
    /// second time: all that it reads is in the cache, if that is large enough.
    void measure_warm(const comments& in, measurements& into) const;

    /// The first lookups through a store just opened, whose files were put out of the system's
    /// memory, and how many blocks each read from them.
    void measure_cold(const comments& in, const archive::rocksdb_store& rows,
                      measurements& into) const;

    /// The bytes of a record on average.
    [[nodiscard]] double record_bytes() const noexcept { return record_bytes_; }

private:
    struct wanted {
        chainbase::id<social::comment_object> id;
        social::account_name author;
        std::string permlink;
    };

    std::vector<wanted> wanted_;
    double record_bytes_ = 0;
};

} // namespace chainbase::bench
