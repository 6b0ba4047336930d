#include <archive/detail/integers.hpp>
#include <archive/rocksdb/key.hpp>
#include <archive/rocksdb/row_cache.hpp>

#include <array>
#include <utility>

namespace chainbase::archive::detail {

namespace {

/// What the cache takes beside the bytes, for its entry and ours.
constexpr std::size_t overhead = 160;

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

void destroy(const rocksdb::Slice&, void* row) {
    delete static_cast<byte_buffer*>(row);
}

} // namespace

std::optional<pinned_row> rocksdb_row_cache::find(table_id table, std::uint32_t id) const {
    rocksdb::Cache::Handle* const entry = cache_->Lookup(cache_key(table, id));
    if (entry == nullptr) return std::nullopt;
    const auto release = [cache = cache_, entry](const void*) { cache->Release(entry); };
    const auto& row = *static_cast<const byte_buffer*>(cache_->Value(entry));
    hits_.fetch_add(1, std::memory_order_relaxed);
    return pinned_row(id, row, std::shared_ptr<const void>(&row, release));
}

// One that does not fit is destroyed by the cache; nothing is lost but time.
void rocksdb_row_cache::remember(table_id table, std::uint32_t id, bytes_view row,
                                 std::uint64_t seen) const {
    auto copy = std::make_unique<byte_buffer>(row.begin(), row.end());
    unless_changed(seen, [&] {
        const std::size_t bytes = row.size() + overhead;
        cache_->Insert(cache_key(table, id), copy.release(), bytes, destroy).PermitUncheckedError();
    });
}

void rocksdb_row_cache::note_change() {
    const std::lock_guard lock(changing_);
    ++changes_;
}

void rocksdb_row_cache::change::forget(table_id table, std::uint32_t id) {
    rows_.cache_->Erase(cache_key(table, id));
}

} // namespace chainbase::archive::detail
