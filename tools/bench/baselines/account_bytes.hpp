#pragma once

#include <tools/bench/account.hpp>

#include <array>
#include <cstdint>
#include <cstring>

/// The keys of an account for stores that order bytes.
namespace chainbase::bench {

using byte_key = std::array<char, 8>;
using byte_pair_key = std::array<char, 16>;

inline void store_big_endian(char* at, std::uint64_t value) noexcept {
    const std::uint64_t swapped = __builtin_bswap64(value);
    std::memcpy(at, &swapped, sizeof(swapped));
}

/// Orders as the id does.
inline byte_key id_bytes(std::uint64_t id) noexcept {
    byte_key key;
    store_big_endian(key.data(), id);
    return key;
}

/// Orders as (balance descending, id) does: the complement turns the order round, the top bit makes
/// negative balances the smaller ones.
inline byte_pair_key balance_bytes(const account& object) noexcept {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    byte_pair_key key;
    store_big_endian(key.data(), ~(static_cast<std::uint64_t>(object.balance) ^ sign));
    store_big_endian(key.data() + 8, object.id);
    return key;
}

} // namespace chainbase::bench
