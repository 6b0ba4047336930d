#pragma once

#include <tools/block_log/block.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/driver/chain_state.hpp>

#include <tests/support/random_source.hpp>
#include <tests/tools/small_chain.hpp>

#include <map>
#include <string>
#include <vector>

namespace chainbase::test {

/// A tree of blocks of the payments chain, and which of them a node must be at: the naive model of
/// what fork_tree and chain_follower do.
class payments_tree {
public:
    struct entry {
        block value;
        driver::block_place place;
        std::size_t parent = 0;
        std::uint64_t height = 0;
        bool is_valid = true; ///< and all before it
    };

    /// `lag`: the node's. The first entry stands for no block, the second makes accounts.
    explicit payments_tree(std::size_t lag) : lag_(lag), all_(1) {
        block first{1, 1000, {}};
        for (std::uint32_t i = 0; i < accounts; ++i)
            first.transactions.push_back(
                {{payments::encode(payments::account_create{name(i), 1'000'000})}});
        append(std::move(first), 0, true);
    }

    /// A new block behind another; a bad one breaks a rule in its last transaction.
    std::size_t add(std::size_t parent, random_source& random, bool is_bad = false) {
        block next{all_[parent].place.number + 1, 0, {}};
        next.timestamp = 1000 + static_cast<std::int64_t>(3 * next.number);
        for (std::uint32_t left = 1 + random.below(3); left > 0; --left)
            pay(next, random, static_cast<std::int64_t>(all_.size())); // equal to no other
        if (is_bad) pay(next, random, 1'000'000'000);
        return append(std::move(next), parent, !is_bad);
    }

    /// This very block, numbered, behind another.
    std::size_t add_copy(std::size_t parent, block value) {
        value.number = all_[parent].place.number + 1;
        return append(std::move(value), parent, true);
    }

    /// One of the last that a node still takes a block behind: they descend from the irreversible
    /// one.
    [[nodiscard]] std::size_t any_parent(random_source& random, std::size_t recent = 12) const {
        std::vector<std::size_t> possible;
        for (std::size_t i = 1; i < all_.size(); ++i)
            if (descends_from_root(i)) possible.push_back(i);
        const auto last = static_cast<std::uint32_t>(std::min(possible.size(), recent));
        return possible[possible.size() - 1 - random.below(last)];
    }

    [[nodiscard]] const entry& at(std::size_t index) const { return all_[index]; }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] std::size_t head() const { return head_; }
    [[nodiscard]] std::size_t root() const { return root_; }

    /// The blocks from the first to this one.
    [[nodiscard]] std::vector<block> chain_to(std::size_t index) const {
        std::vector<block> result;
        for (; index != 0; index = all_[index].parent)
            result.insert(result.begin(), all_[index].value);
        return result;
    }
    /// The digest of a state to which the blocks up to this one were applied.
    [[nodiscard]] std::string digest_at(std::size_t index) const {
        small_chain alone("payments");
        for (const block& one : chain_to(index))
            alone.state.apply(one);
        return alone.state.model().state_digest();
    }

private:
    static constexpr std::uint32_t accounts = 8;

    static payments::account_name name(std::uint32_t account) {
        return std::string_view("user" + std::to_string(account));
    }
    static void pay(block& in, random_source& random, std::int64_t amount) {
        const std::uint32_t from = random.below(accounts);
        const std::uint32_t to = (from + 1 + random.below(accounts - 1)) % accounts;
        in.transactions.push_back(
            {{payments::encode(payments::payment{name(from), name(to), amount})}});
    }

    std::size_t append(block value, std::size_t parent, bool is_good) {
        entry one;
        one.place = {value.number, next_id(all_[parent].place.id, checksum_of(value))};
        one.value = std::move(value);
        one.parent = parent;
        one.height = all_[parent].height + 1;
        one.is_valid = is_good && all_[parent].is_valid;
        all_.push_back(std::move(one));
        const std::size_t index = all_.size() - 1;
        if (all_[index].is_valid && all_[index].height > all_[head_].height) head_ = index;
        while (all_[head_].height - all_[root_].height > lag_) {
            std::size_t next = head_;
            while (all_[next].parent != root_)
                next = all_[next].parent;
            root_ = next;
        }
        return index;
    }
    [[nodiscard]] bool descends_from_root(std::size_t index) const {
        while (all_[index].height > all_[root_].height)
            index = all_[index].parent;
        return index == root_;
    }

    std::size_t lag_;
    std::vector<entry> all_;
    std::size_t head_ = 0;
    std::size_t root_ = 0;
};

} // namespace chainbase::test
