#include <chainbase/check/object_slots.hpp>

#include <algorithm>

namespace chainbase::check {

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
