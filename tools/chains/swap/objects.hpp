#pragma once

#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/swap/operations.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>

/// The state of the swap chain. Amounts are integers in the token's smallest unit, times are Unix
/// seconds.
namespace chainbase::swap {

struct by_pair_id;

/// The reserves of a pair of tokens.
struct pair_object {
    chainbase::id<pair_object> id;
    std::uint32_t pair_id = 0;
    fixed_string<8> symbol0;
    fixed_string<8> symbol1;
    std::uint8_t decimals0 = 0;
    std::uint8_t decimals1 = 0;
    std::int64_t reserve0 = 0;
    std::int64_t reserve1 = 0;
    uint128 volume0 = 0; ///< sum of incoming amounts; 64 bits are too few for some tokens
    uint128 volume1 = 0;
    std::uint64_t swaps = 0;
    std::int64_t last_time = 0;

    using keys = chainbase::keys<hashed_unique<by_pair_id, &pair_object::pair_id>>;
};
BOOST_DESCRIBE_STRUCT(pair_object, (),
                      (id, pair_id, symbol0, symbol1, decimals0, decimals1, reserve0, reserve1,
                       volume0, volume1, swaps, last_time))

struct by_name;

/// An account that swaps.
struct owner_object {
    chainbase::id<owner_object> id;
    owner_name name;
    std::uint64_t swaps = 0;
    std::int64_t first_time = 0;
    std::int64_t last_time = 0;

    using keys = chainbase::keys<hashed_unique<by_name, &owner_object::name>>;
};
BOOST_DESCRIBE_STRUCT(owner_object, (), (id, name, swaps, first_time, last_time))

/// One object: the chain's head, and how often the logged reserves followed from the previous ones.
struct global_object {
    chainbase::id<global_object> id;
    std::uint64_t head_number = 0;
    std::int64_t head_time = 0;
    std::uint64_t swaps = 0;
    std::int64_t first_of_pair = 0;
    std::int64_t out_exact = 0;
    std::int64_t out_other = 0;
    std::int64_t in_exact = 0;
    std::int64_t in_other = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(global_object, (),
                      (id, head_number, head_time, swaps, first_of_pair, out_exact, out_other,
                       in_exact, in_other))

} // namespace chainbase::swap
