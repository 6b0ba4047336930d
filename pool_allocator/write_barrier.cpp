#include <pool_allocator/address_space.hpp>
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

/// The word is the first one of the page that is not before `begin`.
void write_barrier::record_page(std::uint64_t page, std::uint64_t begin) noexcept {
    if (!tail_) return; // nothing is logged
    const std::uint64_t at = std::max(page * page_tracker::page_bytes, begin);
    std::memcpy(cursor_, range_base_ + at, sizeof(std::uint32_t));
    append(at, sizeof(std::uint32_t), record_kind::words);
    place_of(page) = {page, pages_since_};
}

void write_barrier::first_use_long(const void* address, std::size_t bytes) {
    const std::uint64_t begin = offset_of(address);
    const std::uint64_t last = (begin + bytes - 1) / page_tracker::page_bytes;
    for (std::uint64_t page = begin / page_tracker::page_bytes; page <= last; ++page) {
        reserve(record_bytes(sizeof(std::uint32_t)));
        record_page(page, begin);
    }
    written(address, bytes);
}

void write_barrier::keep(kept_memory& memory) {
    for (kept_since& known : kept_) {
        if (known.memory != &memory) continue;
        known.epoch = epoch_;
        return;
    }
    kept_.push_back({&memory, epoch_});
}

void write_barrier::forget(const kept_memory& memory) noexcept {
    std::erase_if(kept_, [&](const kept_since& known) { return known.memory == &memory; });
}

std::uint64_t write_barrier::newest_kept(std::uint64_t epoch) const noexcept {
    std::uint64_t newest = 0;
    for (const kept_since& known : kept_)
        if (known.epoch < epoch) newest = std::max(newest, known.epoch);
    return newest;
}

void write_barrier::release_kept(std::uint64_t epoch) noexcept {
    std::erase_if(kept_, [&](const kept_since& known) {
        if (known.epoch >= epoch) return false;
        known.memory->release();
        return true;
    });
}

} // namespace chainbase
