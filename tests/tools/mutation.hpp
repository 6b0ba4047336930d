#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstdint>
#include <random>

namespace chainbase::test {

/// `input` with one to three of: a flipped bit, an overwritten byte, a cut end, removed bytes,
/// inserted bytes, repeated bytes.
inline bytes mutate(std::mt19937_64& random, bytes input) {
    for (auto left = 1 + random() % 3; left > 0; --left) {
        const auto at = input.begin() + static_cast<std::ptrdiff_t>(random() % (input.size() + 1));
        const auto rest = static_cast<std::uint64_t>(input.end() - at);
        const auto some = at + static_cast<std::ptrdiff_t>(random() % (rest + 1));
        switch (random() % 6) {
        case 0:
            if (rest > 0) *at ^= static_cast<std::byte>(1 << random() % 8);
            break;
        case 1:
            if (rest > 0) *at = static_cast<std::byte>(random());
            break;
        case 2:
            input.erase(at, input.end());
            break;
        case 3:
            input.erase(at, some);
            break;
        case 4:
            input.insert(at, 1 + random() % 9, static_cast<std::byte>(random()));
            break;
        default: {
            const bytes again(at, some);
            input.insert(some, again.begin(), again.end());
        }
        }
    }
    return input;
}

} // namespace chainbase::test
