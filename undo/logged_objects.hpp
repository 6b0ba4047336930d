#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase {

/// Tracks, in the writer's own memory, the objects whose image the log already has in the current
/// epoch, so that modifying a hot object again in the same session costs no log.
///
/// A direct-mapped cache of {address, epoch}: forgetting an entry only means one more record, and
/// an entry is trusted only in its own epoch, which is never reused. Grows while one epoch keeps
/// displacing its own entries, up to `max_entries`.
class logged_objects {
public:
    static constexpr std::size_t min_entries = std::size_t{1} << 10;
    static constexpr std::size_t max_entries = std::size_t{1} << 22;

    logged_objects() : entries_(min_entries) {}

    /// Whether `object` was added in `epoch`; adds it if not. May return false for an added object,
    /// never true for another.
    bool test_and_add(const void* object, std::uint64_t epoch) {
        const auto address = reinterpret_cast<std::uintptr_t>(object);
        entry& place = entries_[slot_of(address)];
        if (place.epoch == epoch && place.address == address) return true;
        if (place.epoch == epoch && displaces_too_much(epoch)) {
            grow();
            entries_[slot_of(address)] = {address, epoch};
            return false;
        }
        place = {address, epoch};
        return false;
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return entries_.size(); }

private:
    struct entry {
        std::uintptr_t address = 0;
        std::uint64_t epoch = 0;
    };

    [[nodiscard]] std::size_t slot_of(std::uintptr_t address) const noexcept {
        return static_cast<std::size_t>((address >> 3) * 0x9E37'79B9'7F4A'7C15U >> 32) &
               (entries_.size() - 1);
    }
    /// Counts an entry of `epoch` that displaced another one of the same epoch.
    [[nodiscard]] bool displaces_too_much(std::uint64_t epoch) noexcept {
        if (displaced_in_ != epoch) displaced_ = 0;
        displaced_in_ = epoch;
        return ++displaced_ > entries_.size() / 4;
    }
    void grow();

    std::vector<entry> entries_;
    std::size_t displaced_ = 0;
    std::uint64_t displaced_in_ = 0; ///< the epoch that they were counted in
};

} // namespace chainbase
