#include <tools/inspect/root/root_faults.hpp>

#include <numeric>
#include <utility>

namespace chainbase::inspect {

void root_faults::add(root_fault one) {
    ++counts_[static_cast<std::size_t>(one.what)];
    if (has_room(one.what)) named(one.what).push_back(std::move(one));
}

void root_faults::add(root_faults&& others) {
    for (std::size_t number = 0; number < kinds; ++number) {
        counts_[number] += others.counts_[number];
        for (root_fault& one : others.named_[number])
            if (has_room(one.what)) named(one.what).push_back(std::move(one));
    }
}

std::uint64_t root_faults::total() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

} // namespace chainbase::inspect
