#pragma once

#include <tools/chains/checked.hpp>

#include <cstdint>

namespace chainbase::social {

/// How the voters' part of a comment is shared: by positive rshares, each share rounded down, so
/// that a remainder of less than one milli-HBD per voter is left.
class curation {
public:
    explicit curation(std::int64_t payout) : payout_(payout), left_(payout) {}

    /// Counts a vote in; all of them before the first share() is asked for.
    void add(std::int64_t rshares) {
        if (rshares > 0) positive_ += static_cast<uint128>(rshares);
    }
    /// Whether there is anyone to share with.
    [[nodiscard]] bool has_curators() const noexcept { return positive_ != 0; }

    /// What a vote with these rshares gets: floor(payout * rshares / sum of positive rshares). The
    /// product has at most 126 bits.
    [[nodiscard]] std::int64_t share(std::int64_t rshares) noexcept {
        if (rshares <= 0) return 0;
        const uint128 product = static_cast<uint128>(payout_) * static_cast<uint128>(rshares);
        const auto share = static_cast<std::int64_t>(product / positive_);
        left_ -= share;
        return share;
    }
    /// What is not shared yet; after the last vote the remainder, which is the author's.
    [[nodiscard]] std::int64_t left() const noexcept { return left_; }

private:
    std::int64_t payout_;
    std::int64_t left_;
    uint128 positive_ = 0;
};

} // namespace chainbase::social
