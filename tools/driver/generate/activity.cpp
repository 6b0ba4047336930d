#include <tools/chains/checked.hpp>
#include <tools/driver/generate/activity.hpp>

#include <algorithm>
#include <numeric>

namespace chainbase::generate {
namespace {

/// 2^20 a unit, so that a mix of weights is not lost in rounding.
constexpr std::uint64_t unit = 1 << 20;

std::uint64_t place_of(std::uint64_t rank, std::uint64_t count) {
    return static_cast<std::uint64_t>((static_cast<uint128>(2 * rank + 1) << 64) / (2 * count));
}

std::vector<std::uint64_t> weights_of(std::uint32_t accounts, std::uint64_t active,
                                      const quantile_points& points, std::uint64_t skew_milli) {
    std::vector<std::uint64_t> weights(accounts);
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 0; rank < active; ++rank) {
        const auto value = std::max<std::int64_t>(value_at(points, place_of(rank, active)), 1);
        weights[rank] = static_cast<std::uint64_t>(value) * unit;
        sum += weights[rank];
    }
    const std::uint64_t mean = sum / accounts;
    for (std::uint64_t& one : weights)
        one = (one * skew_milli + mean * (1000 - skew_milli)) / 1000;
    return weights;
}

std::uint64_t stride_for(std::uint64_t accounts) {
    std::uint64_t stride = accounts * 618 / 1000 + 1;
    while (std::gcd(stride, accounts) != 1)
        ++stride;
    return stride;
}

} // namespace

activity::activity(std::uint32_t accounts, std::uint32_t active_per_100_000,
                   const quantile_points& points, std::uint32_t skew_milli)
    : columns_(accounts),
      active_per_100_000_((active_per_100_000 * skew_milli + 100'000 * (1000 - skew_milli)) / 1000),
      is_skewed_(skew_milli > 0), stride_(stride_for(accounts)) {
    const std::uint64_t active = std::uint64_t{accounts} * active_per_100_000 / 100'000;
    fill(weights_of(accounts, std::max<std::uint64_t>(active, 1), points, skew_milli));
}

/// Each column gets the average weight: its own, and from a larger one what it lacks.
void activity::fill(std::vector<std::uint64_t> weights) {
    const std::uint64_t count = weights.size();
    const auto sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    std::vector<std::uint32_t> small;
    std::vector<std::uint32_t> large;
    std::vector<uint128> scaled(count); // of `sum`, which is the average weight of `count` columns
    for (std::uint32_t i = 0; i < count; ++i) {
        columns_[i] = {UINT32_MAX, i};
        scaled[i] = static_cast<uint128>(weights[i]) * count;
        (scaled[i] < sum ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
        const std::uint32_t less = small.back();
        const std::uint32_t more = large.back();
        small.pop_back();
        columns_[less] = {static_cast<std::uint32_t>((scaled[less] << 32) / sum), more};
        scaled[more] -= sum - scaled[less];
        if (scaled[more] >= sum) continue;
        large.pop_back();
        small.push_back(more);
    }
}

std::uint32_t activity::draw(random_numbers& random, std::uint64_t newcomers) const {
    if (newcomers > 0 && random.chance(newcomers, columns_.size() + newcomers)) {
        std::uint64_t active = newcomers * active_per_100_000_ / 100'000;
        if (is_skewed_) active = random.below(active) + 1;
        const std::uint64_t rank = random.below(std::max<std::uint64_t>(active, 1));
        return static_cast<std::uint32_t>(columns_.size() + rank);
    }
    const std::uint64_t bits = random.next();
    const std::uint64_t at = (bits >> 32) * columns_.size() >> 32;
    const column& one = columns_[at];
    const bool keeps = static_cast<std::uint32_t>(bits) <= one.keep && one.keep != 0;
    return account_of(keeps ? at : one.other);
}

/// Ranks are spread over the accounts, so that the active ones are not the oldest.
std::uint32_t activity::account_of(std::uint64_t rank) const noexcept {
    return static_cast<std::uint32_t>(rank * stride_ % columns_.size());
}

} // namespace chainbase::generate
