#include <pool_allocator/address_space.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/write_barrier.hpp>

#include <algorithm>

namespace chainbase {

static_assert(address_space::max_bytes == record_trailer::reach,
              "the offset field of a record names every byte of the largest range, and no more");

write_barrier::write_barrier(const address_space& range) noexcept
    : range_base_(range.base()), pages_(&range.pages()) {}

void write_barrier::record_long(const void* address, std::size_t bytes) {
    constexpr std::size_t piece = std::size_t{64} << 10;
    const auto* from = static_cast<const std::byte*>(address);
    while (bytes > 0) {
        const std::size_t now = std::min(bytes, piece);
        reserve(record_bytes(now));
        record(from, now);
        from += now;
        bytes -= now;
    }
}

void write_barrier::note_outgrown(hash_table& table) {
    for (outgrown_table& known : outgrown_) {
        if (known.table != &table) continue;
        known.epoch = epoch_;
        return;
    }
    outgrown_.push_back({&table, epoch_});
}

void write_barrier::forget(const hash_table& table) noexcept {
    std::erase_if(outgrown_, [&](const outgrown_table& known) { return known.table == &table; });
}

void write_barrier::release_outgrown(std::uint64_t epoch) noexcept {
    std::erase_if(outgrown_, [&](const outgrown_table& known) {
        if (known.epoch >= epoch) return false;
        known.table->release_smaller();
        return true;
    });
}

} // namespace chainbase
