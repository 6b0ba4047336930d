#pragma once

#include <archive/bytes.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace chainbase::archive::detail {

/// To which rows the keys led that were looked up last: with the id at hand a lookup by key reads
/// the row only, and not first the entry of the key in another block.
///
/// Only hints: a place is shared by all keys whose hashes fall on it. A hinted row counts only if
/// it names the key itself.
///
/// Thread-safe.
class rocksdb_key_hints {
public:
    /// Takes up to `bytes` of memory.
    explicit rocksdb_key_hints(std::size_t bytes)
        : places_(std::bit_floor(bytes / sizeof(std::uint64_t) + 1)) {}

    [[nodiscard]] static std::uint64_t hash(std::uint32_t table, std::uint32_t index,
                                            bytes_view key) noexcept {
        return XXH3_64bits_withSeed(key.data(), key.size(), std::uint64_t{table} << 32 | index);
    }

    [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash) const noexcept {
        const std::uint64_t place = places_[index_of(hash)].load(std::memory_order_relaxed);
        if (place >> 32 != tag_of(hash)) return std::nullopt;
        return static_cast<std::uint32_t>(place);
    }

    void remember(std::uint64_t hash, std::uint32_t id) noexcept {
        places_[index_of(hash)].store(tag_of(hash) << 32 | id, std::memory_order_relaxed);
    }

    /// Also what another key of the same place has there.
    void forget(std::uint64_t hash) noexcept {
        places_[index_of(hash)].store(0, std::memory_order_relaxed);
    }

private:
    [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
        return hash & (places_.size() - 1);
    }
    /// Never 0, which an empty place has.
    [[nodiscard]] static std::uint64_t tag_of(std::uint64_t hash) noexcept {
        return hash >> 32 | 1;
    }

    std::vector<std::atomic<std::uint64_t>> places_;
};

} // namespace chainbase::archive::detail
