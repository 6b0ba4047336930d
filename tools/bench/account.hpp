#pragma once

#include <chainbase/fixed_string.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace chainbase::bench {

using account_name = fixed_string<16>;

/// The object stored by every engine: 72 bytes, indexed by id, by name and by (balance descending,
/// id), each unique. Trivially copyable, so a byte store may keep it unchanged.
struct account {
    std::uint64_t id = 0;
    account_name name;
    std::int64_t balance = 0;
    std::int64_t savings = 0;
    std::int64_t vesting = 0;
    std::int64_t debt = 0;
    std::uint32_t created = 0;
    std::uint32_t voted = 0;
    std::uint32_t posts = 0;
    std::uint32_t flags = 0;
};

static_assert(sizeof(account) == 72 && std::is_trivially_copyable_v<account>);
static_assert(offsetof(account, name) == 8 && offsetof(account, balance) == 24 &&
              offsetof(account, created) == 56);

/// Spreads the bits of `value` over all 64 (the finalizer of SplitMix64, by Sebastiano Vigna,
/// public domain). Seeds, balances, digests and the hash of a name all come from it.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

/// The hash of every hashed name index, so that engines differ only in their tables.
struct account_name_hash {
    std::size_t operator()(const account_name& name) const noexcept {
        std::uint64_t words[2];
        std::memcpy(words, &name, sizeof(words));
        return mix(words[0] ^ mix(words[1]));
    }
};

/// Hashes the mutable fields of one object; the sum over all objects tells whether two states hold
/// equal values. Works on every type with the fields of `account`.
template <typename Account>
std::uint64_t digest_of(const Account& object) noexcept {
    return mix(account_name_hash{}(object.name) ^ mix(static_cast<std::uint64_t>(object.balance)) ^
               mix(object.voted + (static_cast<std::uint64_t>(object.posts) << 32)));
}

} // namespace chainbase::bench
