#include <pool_allocator/base/resource_limits.hpp>
#include <pool_allocator/page_tracker.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <thread>
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

page_tracker::page_tracker(const std::byte* base, std::uint64_t pages)
    : base_(base), pages_(pages) {
    void* at = mmap(nullptr, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw_no_addresses(pages);
    states_ = static_cast<state*>(at);
}

page_tracker::~page_tracker() {
    munmap(states_, pages_);
}

void page_tracker::cover(std::uint64_t first, std::uint64_t pages) {
    const std::uint64_t begin = first / page_bytes * page_bytes; // of states, a byte each
    const std::uint64_t end =
        std::min((first + pages + page_bytes - 1) / page_bytes * page_bytes, pages_);
    if (mprotect(states_ + begin, end - begin, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
}

/// Claims a captured page and passes it to the keeper; `found` receives its former state. Returns
/// whether this thread claimed it.
bool page_tracker::take_copy(std::uint64_t page, state& found) noexcept {
    if (found != state::captured && found != state::suspect_captured) return false;
    if (!at(page).compare_exchange_strong(found, state::copying)) return false;
    keeper_->keep(page, found == state::captured);
    return true;
}

void page_tracker::change(std::uint64_t page) noexcept {
    for (;;) {
        state found = at(page).load();
        if (found == state::copying) {
            std::this_thread::yield(); // a page takes less than a microsecond
            continue;
        }
        const bool is_captured = found == state::captured || found == state::suspect_captured;
        if (is_captured && !take_copy(page, found)) continue;
        at(page).store(state::written);
        return;
    }
}

void page_tracker::mark_maybe_changed(std::uint64_t first, std::uint64_t pages) noexcept {
    for (std::uint64_t page = first; page < first + pages; ++page)
        at(page).store(state::suspect, std::memory_order_relaxed);
}

bool page_tracker::has_written(std::uint64_t first, std::uint64_t pages) const noexcept {
    for (std::uint64_t page = first; page < first + pages; ++page)
        if (is_written(page)) return true;
    return false;
}

std::uint64_t page_tracker::count_changed(std::uint64_t first, std::uint64_t pages) const noexcept {
    std::uint64_t count = 0;
    for (std::uint64_t page = first; page < first + pages; ++page) {
        const state found = at(page).load(std::memory_order_relaxed);
        if (found == state::written || found == state::suspect) ++count;
    }
    return count;
}

std::uint64_t page_tracker::capture(std::uint64_t first, std::uint64_t pages,
                                    keeper& with) noexcept {
    keeper_ = &with;
    std::uint64_t count = 0;
    for (std::uint64_t page = first; page < first + pages; ++page) {
        const state found = at(page).load(std::memory_order_relaxed);
        if (found != state::written && found != state::suspect) continue;
        at(page).store(found == state::written ? state::captured : state::suspect_captured);
        ++count;
    }
    return count;
}

void page_tracker::copy(std::uint64_t first, std::uint64_t pages) noexcept {
    for (std::uint64_t page = first; page < first + pages; ++page) {
        state found = at(page).load();
        if (take_copy(page, found)) at(page).store(state::clean);
        while (at(page).load() == state::copying) // by the writer: then the keeper has it
            std::this_thread::yield();
    }
}

void page_tracker::release(std::uint64_t first, std::uint64_t pages) noexcept {
    for (std::uint64_t page = first; page < first + pages; ++page) {
        state found = at(page).load();
        if (found == state::captured) at(page).compare_exchange_strong(found, state::written);
        if (found == state::suspect_captured)
            at(page).compare_exchange_strong(found, state::suspect);
    }
}

void page_tracker::give_back(std::uint64_t page, bool is_known) noexcept {
    state clean = state::clean;
    at(page).compare_exchange_strong(clean, is_known ? state::written : state::suspect);
}

} // namespace chainbase
