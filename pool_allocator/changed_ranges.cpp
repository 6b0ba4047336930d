#include <pool_allocator/changed_ranges.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace chainbase {

bool changed_ranges::grow() noexcept {
    if (is_lost_) return false;
    const std::size_t larger = std::max<std::size_t>(1024, 2 * capacity_);
    std::unique_ptr<range[]> made(new (std::nothrow) range[larger]);
    if (!made) {
        lose();
        return false;
    }
    std::copy(ranges_.get(), cursor_, made.get());
    cursor_ = made.get() + (cursor_ - ranges_.get());
    ranges_ = std::move(made);
    capacity_ = larger;
    end_ = ranges_.get() + capacity_;
    return true;
}

void changed_ranges::discard(std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t end = offset + bytes;
    const auto is_within = [&](const range& one) {
        return one.offset >= offset && one.offset + one.bytes <= end;
    };
    const auto touches = [&](const range& one) {
        return one.offset < end && one.offset + one.bytes > offset;
    };
    cursor_ = std::remove_if(ranges_.get(), cursor_, is_within);
    if (std::any_of(ranges_.get(), cursor_, touches)) lose(); // a rare half of one
}

void changed_ranges::lose() noexcept {
    is_lost_ = true;
    cursor_ = end_ = ranges_.get();
}

void changed_ranges::clear() noexcept {
    is_lost_ = false;
    cursor_ = ranges_.get();
    end_ = ranges_.get() + capacity_;
}

} // namespace chainbase
