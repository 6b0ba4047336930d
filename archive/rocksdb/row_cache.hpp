#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/integers.hpp>
#include <archive/record/rows.hpp>
#include <archive/rocksdb/key.hpp>
#include <archive/write_batch.hpp>

#include <rocksdb/version.h>
#if ROCKSDB_MAJOR >= 8
#include <rocksdb/advanced_cache.h>
#else
#include <rocksdb/cache.h>
#endif

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace chainbase::archive::detail {

/// Caches the row ids of recently looked-up keys: with the id a lookup by key reads only the row,
/// and not first the key's entry in another block.
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
        return hash_of(key, std::uint64_t{table} << 32 | index);
    }

    [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash) const noexcept {
        const std::uint64_t place = places_[index_of(hash)].load(std::memory_order_relaxed);
        if (place >> 32 != tag_of(hash)) return std::nullopt;
        return static_cast<std::uint32_t>(place);
    }

    void remember(std::uint64_t hash, std::uint32_t id) noexcept {
        places_[index_of(hash)].store(tag_of(hash) << 32 | id, std::memory_order_relaxed);
    }

    /// Also drops the hint of another key in the same place.
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

/// What the cache takes beside the bytes, for its entry and ours.
inline constexpr std::size_t cache_entry_overhead = 160;

/// Of 8 bytes; those of blocks have 16.
class cache_key {
public:
    cache_key(table_id table, std::uint32_t id) {
        store_big(bytes_.data(), table.value);
        store_big(bytes_.data() + sizeof(std::uint32_t), id);
    }
    operator rocksdb::Slice() const { return slice(bytes_); }

private:
    std::array<std::byte, 2 * sizeof(std::uint32_t)> bytes_;
};

/// The cache owns `row` from here on, and destroys one that does not fit: nothing is lost but time.
inline void put_cached_row(rocksdb::Cache& cache, const cache_key& key,
                           std::unique_ptr<byte_buffer> row, std::size_t bytes) {
#if ROCKSDB_MAJOR >= 8
    static const rocksdb::Cache::CacheItemHelper kind(
        rocksdb::CacheEntryRole::kMisc,
        [](void* cached, rocksdb::MemoryAllocator*) { delete static_cast<byte_buffer*>(cached); });
    cache.Insert(key, row.release(), &kind, bytes).PermitUncheckedError();
#else
    constexpr auto destroy = [](const rocksdb::Slice&, void* cached) {
        delete static_cast<byte_buffer*>(cached);
    };
    cache.Insert(key, row.release(), bytes, destroy).PermitUncheckedError();
#endif
}

/// Caches recently read rows individually, in the block cache: random lookups find them without
/// searching files and blocks, and a row takes the space of a row, not of a block.
///
///     reader   row = find(...)  else  seen = changes()  read  remember(..., seen)
///     writer   change of(rows);  write  of.forget(...) ...
///
/// A row that is read during a change is not cached, so rows that write() replaced are not seen
/// after it returned. New rows need no invalidation. Thread-safe; one writer at a time.
class rocksdb_row_cache {
public:
    explicit rocksdb_row_cache(std::shared_ptr<rocksdb::Cache> cache) : cache_(std::move(cache)) {}

    /// The stored row (write_batch.hpp), which stays in the cache as long as it is held.
    [[nodiscard]] std::optional<pinned_row> find(table_id table, std::uint32_t id) const;

    [[nodiscard]] std::uint64_t changes() const noexcept { return changes_.load(); }
    void remember(table_id table, std::uint32_t id, bytes_view row, std::uint64_t seen) const;

    /// Calls work() if nothing changed since `seen` was returned, and nothing changes meanwhile.
    template <typename Work>
    void unless_changed(std::uint64_t seen, Work&& work) const {
        if (seen % 2 != 0) return;
        const std::lock_guard lock(changing_);
        if (changes_ == seen) work();
    }

    /// While it lives, rows that are there already change.
    class change {
    public:
        explicit change(rocksdb_row_cache& rows) : rows_(rows) { rows_.note_change(); }
        ~change() { rows_.note_change(); }
        change(const change&) = delete;
        change& operator=(const change&) = delete;
        /// After it was written.
        void forget(table_id table, std::uint32_t id);

    private:
        rocksdb_row_cache& rows_;
    };

    [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }

private:
    void note_change();

    std::shared_ptr<rocksdb::Cache> cache_;
    mutable std::mutex changing_;
    std::atomic<std::uint64_t> changes_{0}; ///< odd: one is under way
    mutable std::atomic<std::uint64_t> hits_{0};
};

inline std::optional<pinned_row> rocksdb_row_cache::find(table_id table, std::uint32_t id) const {
    rocksdb::Cache::Handle* const entry = cache_->Lookup(cache_key(table, id));
    if (entry == nullptr) return std::nullopt;
    const auto release = [cache = cache_, entry](const void*) { cache->Release(entry); };
    const auto& row = *static_cast<const byte_buffer*>(cache_->Value(entry));
    hits_.fetch_add(1, std::memory_order_relaxed);
    return pinned_row(id, row, std::shared_ptr<const void>(&row, release));
}

inline void rocksdb_row_cache::remember(table_id table, std::uint32_t id, bytes_view row,
                                        std::uint64_t seen) const {
    auto copy = std::make_unique<byte_buffer>(row.begin(), row.end());
    unless_changed(seen, [&] {
        put_cached_row(*cache_, cache_key(table, id), std::move(copy),
                       row.size() + cache_entry_overhead);
    });
}

inline void rocksdb_row_cache::note_change() {
    const std::lock_guard lock(changing_);
    ++changes_;
}

inline void rocksdb_row_cache::change::forget(table_id table, std::uint32_t id) {
    rows_.cache_->Erase(cache_key(table, id));
}

} // namespace chainbase::archive::detail
