#pragma once

#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>

/// The driver's own objects in a state, beside the chain's. They tell the state's position and
/// origin, under the same undo; they are not part of the chain's content, so the digest excludes
/// them.
namespace chainbase::driver {

/// One object: the state's chain.
struct chain_identity {
    static constexpr const char* type_name = "chain_identity";

    chainbase::id<chain_identity> id;
    fixed_string<32> chain;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(chain_identity, (), (id, chain))

struct by_number;

/// The last block applied in a revision. The one with the highest id is the head; those that can be
/// undone are kept, and the last one that cannot.
struct applied_block {
    chainbase::id<applied_block> id;
    std::int64_t revision = 0;
    std::uint64_t number = 0;
    std::int64_t timestamp = 0;
    std::uint64_t checksum = 0;
    std::uint64_t id_high = 0; ///< block_id
    std::uint64_t id_low = 0;
    std::uint64_t blocks = 0;     ///< in the whole chain, up to and including this one
    std::uint64_t operations = 0; ///< likewise

    using keys = chainbase::keys<ordered_unique<by_number, &applied_block::number>>;
};
BOOST_DESCRIBE_STRUCT(applied_block, (),
                      (id, revision, number, timestamp, checksum, id_high, id_low, blocks,
                       operations))

/// One object, in a state that has a root (class chain_root).
struct root_setting {
    static constexpr const char* type_name = "root_setting";
    static constexpr std::uint64_t default_kept = 100'000;

    chainbase::id<root_setting> id;
    std::uint64_t kept = default_kept; ///< blocks whose roots are kept

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(root_setting, (), (id, kept))

/// The state root after a block.
struct block_root {
    static constexpr const char* type_name = "block_root";

    chainbase::id<block_root> id;
    std::uint64_t number = 0;
    sha256_digest root{};
    /// Digest of the block's writes: committed_state::update. Zeros: the root was rebuilt at this
    /// block.
    sha256_digest writes{};

    using keys = chainbase::keys<ordered_unique<by_number, &block_root::number>>;
};
BOOST_DESCRIBE_STRUCT(block_root, (), (id, number, root, writes))

/// One object, in a state that copies another one (standby/): how far it is in that one's feed.
struct place_in_feed {
    static constexpr const char* type_name = "place_in_feed";

    chainbase::id<place_in_feed> id;
    std::array<std::uint8_t, 16> of{}; ///< the other state's identity
    std::uint64_t at = 0;              ///< feed::feed_position

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(place_in_feed, (), (id, of, at))

} // namespace chainbase::driver
