#pragma once

#include <archive/detail/filter_layout.hpp>
#include <chainbase/database.hpp>

#include <cstdint>
#include <string>

namespace chainbase::archive::detail {

/// 512 bits of a key_filter.
template <typename T>
struct filter_block {
    chainbase::id<filter_block> id;
    filter_layout::block bits{};

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(filter_block, (), (id, bits), (), ())
};

/// Says of a key that no object of T that left memory has it, or that one may have it: most keys
/// that are looked for in vain are new ones, and need no look into the store.
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
