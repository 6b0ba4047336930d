#include <chainbase/check/object_slots.hpp>
#include <pool_allocator/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace chainbase::check {

namespace {

class pool_walk {
public:
    pool_walk(const window& file, part_report& to)
        : file_(file), to_(to), words_(copy_at<pool_state>(file.root())) {}

    pool_facts run(bool has_own_slot) {
        check_counts(has_own_slot);
        walk_free_list();
        to_.count("live", words_.live > 0 ? words_.live - 1 : 0);
        to_.count("free", free_);
        to_.count("slots used", facts_.end - 1);
        return std::move(facts_);
    }

private:
    static constexpr std::uint64_t word(std::size_t offset) noexcept {
        return root_offset + offset;
    }
    void add(std::uint64_t offset, std::string what) {
        facts_.is_sound = false;
        to_.add(file_, offset, std::move(what));
    }
    [[nodiscard]] std::uint64_t offset_of(slot_number slot) const noexcept {
        const window_header& h = file_.header();
        return h.first_slot + std::uint64_t{slot} * h.slot_bytes;
    }

    void check_counts(bool has_own_slot) {
        const std::uint64_t slots =
            (readable(file_) - window_header::page_bytes) / file_.header().slot_bytes;
        // Slot 0 of a class of buffers is never stored to and need not be there.
        const std::uint64_t capacity = has_own_slot ? slots : std::max<std::uint64_t>(slots, 1);
        const std::uint64_t used = words_.high_water;
        if (used == 0 || used > capacity)
            add(word(offsetof(pool_state, high_water)), std::to_string(used) +
                                                            " slots were used, and the file has " +
                                                            std::to_string(capacity));
        facts_.end = static_cast<slot_number>(std::max<std::uint64_t>(std::min(used, capacity), 1));
        facts_.is_whole = slots >= facts_.end;
        facts_.live = words_.live;
        facts_.is_free.assign(facts_.end, false);
        if (words_.live == 0 || words_.live > used)
            add(word(offsetof(pool_state, live)),
                std::to_string(words_.live) + " slots are in use, of " + std::to_string(used));
    }

    void walk_free_list() {
        std::uint64_t link = word(offsetof(pool_state, free_head));
        for (slot_number slot = words_.free_head; slot != 0;) {
            if (slot >= facts_.end)
                return add(link, "the free list leads to slot " + std::to_string(slot) + ", of " +
                                     std::to_string(facts_.end));
            if (facts_.is_free[slot])
                return add(link, "the free list comes to slot " + std::to_string(slot) + " again");
            facts_.is_free[slot] = true;
            ++free_;
            link = offset_of(slot);
            slot = copy_at<slot_number>(file_.base() + link);
        }
        if (facts_.is_sound && free_ != words_.free())
            add(link, "the free list has " + std::to_string(free_) + " slots, the counts say " +
                          std::to_string(words_.free()));
    }

    const window& file_;
    part_report& to_;
    pool_state words_;
    pool_facts facts_;
    std::uint64_t free_ = 0;
};

} // namespace

pool_facts check_pool(const window& file, bool has_own_slot, part_report& to) {
    return pool_walk(file, to).run(has_own_slot);
}

std::uint64_t object_slots::live() const noexcept {
    return static_cast<std::uint64_t>(std::count(is_live_.begin(), is_live_.end(), true));
}

std::uint64_t object_slots::whole() const noexcept {
    std::uint64_t count = 0;
    for (slot_number slot = 1; slot < end(); ++slot)
        count += is_live(slot) && !is_hurt_[slot];
    return count;
}

void object_slots::add(part_report& to, slot_number slot, std::size_t at, std::string what) {
    finding found{part_report::file_of(file_), offset_of(slot) + at, std::move(what)};
    if (slot != 0) {
        found.slot = slot;
        found.object = id(slot);
        hurt(slot);
    }
    to.add(std::move(found));
}

} // namespace chainbase::check
