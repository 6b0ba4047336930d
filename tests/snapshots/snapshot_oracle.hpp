#pragma once

#include <chainbase/snapshot/guarded_read.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>

#include <tests/support/snapshot.hpp>

#include <cstdint>
#include <cstring>
#include <tuple>

namespace chainbase::test {

/// Which block a snapshot shows: no two states of a run have the same.
using block_key = std::tuple<log_time, std::uint64_t, std::uint64_t>;

/// The newest block that the writer of a segment has published.
inline block_key newest_block(const mapped_segment& of) {
    snapshot_words words;
    std::memcpy(&words, of.log_file().root() + sizeof(log_words), sizeof words);
    return {words.end.time, words.end.epoch, words.losses};
}

inline block_key block_of(snapshot_segment& of) {
    return {of.block().time, of.block().epoch, of.images().losses()};
}

/// Every byte in use of a state at the block of a snapshot. Throws as its reads.
inline snapshot bytes_of(snapshot_segment& of) {
    of.each_window([](const window& file) {
        detail::guarded([&] { detail::touch(file.base(), window_header::page_bytes); });
    });
    for (const window_part& part : parts_in_use(of))
        detail::guarded([&] { detail::touch(part.file->base() + part.begin, part.bytes); });
    return snapshot(of); // every page is there
}

} // namespace chainbase::test
