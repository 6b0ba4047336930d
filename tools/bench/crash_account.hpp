#pragma once

#include <cstdint>

namespace chainbase::bench {

/// What the engines that keep bytes keep of an account, under its name: with that 72 bytes, as in
/// the account bench.
struct crash_account {
    std::int64_t balance = 0;
    std::int64_t savings = 0;
    std::int64_t vesting = 0;
    std::int64_t debt = 0;
    std::uint64_t counts[3] = {};
};
static_assert(sizeof(crash_account) + 16 == 72);

} // namespace chainbase::bench
