#include <chainbase/locks/snapshot_slots.hpp>
#include <pool_allocator/base/error.hpp>

#include <algorithm>
#include <atomic>
#include <string>

namespace chainbase {

/// The word is looked at first: who announces itself meanwhile increments it, and is not lost.
snapshot_readers::need snapshot_slots::oldest(log_time floor) noexcept {
    const std::atomic_ref word(announced());
    std::uint32_t seen = word.load();
    need all{UINT64_MAX, UINT64_MAX};
    for (std::uint32_t n = 0, end = file_.slots(); n < end; ++n) {
        reader_slot& slot = file_.slot(n);
        const std::uint64_t time = std::atomic_ref(slot.snapshot).load(std::memory_order_acquire);
        if (time < floor || time == 0 || (!file_.is_held(n) && file_.reclaim_if_dead(n))) continue;
        all.time = std::min(all.time, time);
        all.epoch =
            std::min(all.epoch, std::atomic_ref(slot.epoch).load(std::memory_order_relaxed));
    }
    if (all.time == UINT64_MAX) word.compare_exchange_strong(seen, 0);
    return all;
}

bool snapshot_slots::any_within(log_time after, log_time to) noexcept {
    for (std::uint32_t n = 0, end = file_.slots(); n < end; ++n) {
        const std::uint64_t time =
            std::atomic_ref(file_.slot(n).snapshot).load(std::memory_order_relaxed);
        if (time > after && time <= to) return true;
    }
    return false;
}

snapshot_slot::snapshot_slot(const std::filesystem::path& readers)
    : file_(readers, reader_file::mode::take_part) {
    while (number_ < reader_file::max_slots && !file_.claim(number_))
        ++number_;
    if (number_ == reader_file::max_slots)
        throw limit_error(readers.string() + ": " + std::to_string(reader_file::max_slots) +
                          " threads and snapshots read the state; end some of them");
    file_.introduce(number_);
}

snapshot_slot::~snapshot_slot() {
    if (!origin_.is_here()) return;
    file_.reclaim_if_dead(number_);
    file_.drop_free_end();
}

std::uint64_t snapshot_slot::replacements() const noexcept {
    return std::atomic_ref(file_.header().segment).load(std::memory_order_acquire);
}

std::uint64_t snapshot_slot::types_added() const noexcept {
    return std::atomic_ref(file_.header().types).load(std::memory_order_acquire);
}

/// The epoch first: the writer looks at it once it sees the time. While both change it may see the
/// older of the two snapshots, which keeps more.
void snapshot_slot::announce(const snapshot_readers::need& need) noexcept {
    reader_slot& slot = file_.slot(number_);
    std::atomic_ref(slot.epoch).store(need.epoch, std::memory_order_relaxed);
    std::atomic_ref(slot.snapshot).store(need.time, std::memory_order_release);
    std::atomic_ref(file_.header().snapshots).fetch_add(1);
}

} // namespace chainbase
