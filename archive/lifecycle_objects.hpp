#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/database.hpp>
#include <chainbase/object.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace chainbase::archive::detail {

struct by_revision;
struct by_object;

/// An entry of the queue of those T that are finished and still in memory. One is created for each
/// object that is retired and removed when it is handed over; since ids are given in order, the ids
/// given less the entries left are the objects that were handed over, or removed before that
/// (removed_objects).
template <typename T>
struct retired {
    chainbase::id<retired> id;
    chainbase::id<T> object;
    std::int64_t revision = 0; ///< the one in which it was retired
    std::uint64_t content = 0; ///< a hash of its record then: it must not change any more

    using keys = chainbase::keys<ordered_unique<by_revision, &retired::revision, &retired::id>,
                                 hashed_unique<by_object, &retired::object>>;
    BOOST_DESCRIBE_CLASS(retired, (), (id, object, revision, content), (), ())
};

struct by_object;

/// Marks an object of T as removed after it was retired. Its row, if any, stays in the store, since
/// older copies of the state rely on it.
template <typename T>
struct removed {
    chainbase::id<removed> id;
    chainbase::id<T> object;

    using keys = chainbase::keys<hashed_unique<by_object, &removed::object>>;
    BOOST_DESCRIBE_CLASS(removed, (), (id, object), (), ())
};

/// Marks a removed object that was still in memory: the state does not know of a row.
template <typename T>
struct withdrawn {
    chainbase::id<withdrawn> id;
    chainbase::id<T> object;

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(withdrawn, (), (id, object), (), ())
};

/// The objects of T whose rows do not count any more, kept as objects of the state, so under undo
/// with their removal. Thread-safety: as the database.
template <typename T>
class removed_objects {
public:
    /// For the type registered as `name`; registers beside it `name`.removed and `name`.withdrawn.
    removed_objects(database& state, const std::string& name) : state_(state) {
        state_.template add_type<removed<T>>(name + ".removed");
        state_.template add_type<withdrawn<T>>(name + ".withdrawn");
    }

    /// As a change of the session under way.
    void add(id<T> object, bool is_handed_over) {
        state_.template create<removed<T>>([&](removed<T>& one) { one.object = object; });
        if (!is_handed_over)
            state_.template create<withdrawn<T>>([&](withdrawn<T>& one) { one.object = object; });
    }

    [[nodiscard]] bool has(id<T> object) const {
        return count() != 0 && state_.template find<removed<T>, by_object>(object) != nullptr;
    }
    /// Whether the row of this id is an object of the state that is in the archive only. Else the
    /// object is in memory (perhaps with other keys than it will have when it finishes), was
    /// removed, or is of a later time than this state.
    [[nodiscard]] bool counts(std::uint32_t row) const {
        const id<T> object(row);
        return object < state_.template next_id<T>() && !has(object) && !state_.find(object);
    }
    [[nodiscard]] std::size_t count() const noexcept { return state_.template count<removed<T>>(); }
    [[nodiscard]] std::size_t withdrawn_count() const noexcept {
        return state_.template count<withdrawn<T>>();
    }

private:
    database& state_;
};

/// The layout of a key_filter, independent of T, so that a check of a state can query it.
///
/// A filter consists of generations, each with four times as many blocks as the one before: growing
/// rebuilds none. 12 bits a key, 6 of them set, give 1 % of false answers a generation.
struct filter_layout {
    static constexpr std::uint32_t words = 8;
    using block = std::array<std::uint64_t, words>;

    static constexpr std::uint32_t bits_per_key = 12;
    static constexpr std::uint32_t bits_set = 6;
    static constexpr std::uint32_t growth = 4;
    static constexpr std::uint32_t first_blocks = 1024; ///< of 512 bits: 43,690 keys

    /// Blocks [first, first + count) are for the keys [first_key, first_key + keys()).
    struct generation {
        std::uint32_t first = 0;
        std::uint32_t count = first_blocks;
        std::uint64_t first_key = 0;

        [[nodiscard]] std::uint64_t keys() const noexcept {
            return std::uint64_t{count} * words * 64 / bits_per_key;
        }
        [[nodiscard]] generation next() const noexcept {
            return {first + count, count * growth, first_key + keys()};
        }
        /// The number of the block for a key of this hash.
        [[nodiscard]] std::uint32_t block_of(std::uint64_t hash) const noexcept {
            return first + static_cast<std::uint32_t>((hash >> 32) * count >> 32);
        }
    };

    [[nodiscard]] static std::uint64_t hash(std::uint32_t index, bytes_view key) noexcept {
        return hash_of(key, index);
    }

    /// The bits of a block that a key of this hash sets.
    [[nodiscard]] static block bits_of(std::uint64_t hash) noexcept {
        block bits{};
        std::uint64_t rest = hash * 0x9e3779b97f4a7c15u; // its upper half has chosen the block
        for (std::uint32_t n = 0; n < bits_set; ++n, rest >>= 9)
            bits[rest >> 6 & 7] |= std::uint64_t{1} << (rest & 63);
        return bits;
    }

    [[nodiscard]] static bool has(const block& in, const block& all) noexcept {
        std::uint64_t missing = 0;
        for (std::uint32_t n = 0; n < words; ++n)
            missing |= all[n] & ~in[n];
        return missing == 0;
    }
};

/// 512 bits of a key_filter.
template <typename T>
struct filter_block {
    chainbase::id<filter_block> id;
    filter_layout::block bits{};

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(filter_block, (), (id, bits), (), ())
};

/// Tells whether an object of T that left memory may have a key. Most unsuccessful lookups are for
/// new keys, and skip the store.
///
/// A Bloom filter whose blocks each hold all bits of a key (F. Putze, P. Sanders, J. Singler,
/// "Cache-, Hash- and Space-Efficient Bloom Filters", 2007). Its blocks are objects of the state:
/// under undo with the hand-over that filled them, in checkpoints with it, seen by readers. So it
/// is always of the same instant as the state, and there is nothing to rebuild.
///
/// Thread-safety: as the database.
template <typename T>
class key_filter {
    using block = filter_block<T>;
    using generation = filter_layout::generation;

public:
    /// For the type registered as `name`; registers the blocks beside it, as `name`.filter.
    key_filter(database& state, const std::string& name) : state_(state) {
        state_.template add_type<block>(name + ".filter");
    }

    /// Adds one more key, behind `before` others, as a change of the session under way.
    void add(std::uint64_t hash, std::uint64_t before) {
        generation at;
        while (before - at.first_key >= at.keys())
            at = at.next();
        make(at);
        const auto bits = filter_layout::bits_of(hash);
        const block& one = state_.get(id<block>(at.block_of(hash)));
        if (filter_layout::has(one.bits, bits)) return;
        state_.modify(one, [&](block& changed) {
            for (std::uint32_t n = 0; n < filter_layout::words; ++n)
                changed.bits[n] |= bits[n];
        });
    }

    [[nodiscard]] bool empty() const { return state_.template next_id<block>().value == 0; }

    [[nodiscard]] bool may_have(std::uint64_t hash) const {
        const std::uint32_t made = state_.template next_id<block>().value;
        const auto bits = filter_layout::bits_of(hash);
        bool found = false;
        for (generation at; at.first < made; at = at.next()) // all of them: their reads overlap
            found |= filter_layout::has(state_.get(id<block>(at.block_of(hash))).bits, bits);
        return found;
    }

private:
    void make(const generation& at) {
        while (state_.template next_id<block>().value < at.first + at.count)
            state_.template create<block>([](block&) {});
    }

    database& state_;
};

} // namespace chainbase::archive::detail
