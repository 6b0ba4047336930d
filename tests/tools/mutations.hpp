#pragma once

#include <tools/block_log/bytes.hpp>

#include <tests/support/property.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace chainbase::test {

/// What happens to some bytes: a kind, where, how many, and of what value.
using mutations = std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint8_t, std::uint8_t>>;

/// At least one.
inline rc::Gen<mutations> some_mutations() {
    return rc::gen::nonEmpty(
        rc::gen::resize(3, rc::gen::container<mutations>(rc::gen::resize(
                               100, rc::gen::tuple(rc::gen::inRange<std::uint8_t>(0, 6),
                                                   rc::gen::arbitrary<std::uint32_t>(),
                                                   rc::gen::inRange<std::uint8_t>(0, 40),
                                                   rc::gen::arbitrary<std::uint8_t>())))));
}

/// `input` with a flipped bit, an overwritten byte, a cut end, removed bytes, inserted bytes or
/// repeated bytes for each mutation.
inline bytes mutated(bytes input, const mutations& all) {
    for (const auto& [kind, place, count, value] : all) {
        const auto at =
            input.begin() + static_cast<std::ptrdiff_t>(place % (input.size() + std::size_t{1}));
        const auto some = at + std::min<std::ptrdiff_t>(count, input.end() - at);
        switch (kind) {
        case 0:
            if (at != input.end()) *at ^= static_cast<std::byte>(1 << value % 8);
            break;
        case 1:
            if (at != input.end()) *at = static_cast<std::byte>(value);
            break;
        case 2:
            input.erase(at, input.end());
            break;
        case 3:
            input.erase(at, some);
            break;
        case 4:
            input.insert(at, 1 + count % 9, static_cast<std::byte>(value));
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
