#pragma once

#include <tools/block_log/block.hpp>
#include <tools/chains/payments/objects.hpp>
#include <tools/driver/live/live_node.hpp>

#include <tests/support/captured_log.hpp>
#include <tests/support/property.hpp>
#include <tests/tools/small_chain.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace chainbase::test {

/// One step in the growth of a tree of blocks.
struct growth {
    /// Behind the head; else behind the how manieth newest block that a node still takes one
    /// behind.
    std::uint32_t beside = 0;
    bool is_bad = false;

    friend std::ostream& operator<<(std::ostream& out, const growth& one) {
        return out << "{beside " << one.beside << (one.is_bad ? ", bad}" : "}");
    }
};

/// `forks` and `bad`: of a hundred blocks. They lie beside one of the `recent` newest.
inline rc::Gen<std::vector<growth>> any_growth(std::size_t forks, std::size_t bad,
                                               std::uint32_t recent) {
    const auto beside = rc::gen::weightedOneOf<std::uint32_t>(
        {{100 - forks, rc::gen::just(0u)}, {forks, rc::gen::inRange(1u, recent + 1)}});
    const auto is_bad = rc::gen::weightedElement<bool>({{100 - bad, false}, {bad, true}});
    return rc::gen::container<std::vector<growth>>(rc::gen::construct<growth>(beside, is_bad));
}

/// A tree of blocks of the payments chain, and the possible heads of a node: the naive model of
/// fork_tree and chain_follower.
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
    std::size_t add(std::size_t parent, bool is_bad = false) {
        block next{all_[parent].place.number + 1, 0, {}};
        next.timestamp = 1000 + static_cast<std::int64_t>(3 * next.number);
        for (std::uint32_t left = 1 + random_.below(3); left > 0; --left)
            pay(next, static_cast<std::int64_t>(all_.size())); // equal to no other
        if (is_bad) pay(next, 1'000'000'000);
        return append(std::move(next), parent, !is_bad);
    }
    std::size_t add(const growth& how) {
        return add(how.beside == 0 ? head_ : any_parent(how.beside), how.is_bad);
    }
    /// So many blocks behind another, one behind the other.
    std::vector<std::size_t> grow(std::size_t parent, std::size_t blocks) {
        std::vector<std::size_t> grown;
        for (; blocks > 0; --blocks)
            grown.push_back(parent = add(parent));
        return grown;
    }

    [[nodiscard]] const entry& at(std::size_t index) const { return all_[index]; }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] std::size_t head() const { return head_; }
    [[nodiscard]] std::size_t root() const { return root_; }

    /// The blocks from the first to this one.
    [[nodiscard]] std::vector<block> chain_to(std::size_t index) const {
        std::vector<block> result;
        for (; index != 0; index = all_[index].parent)
            result.push_back(all_[index].value);
        std::ranges::reverse(result);
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
    void pay(block& in, std::int64_t amount) {
        const std::uint32_t from = random_.below(accounts);
        const std::uint32_t to = (from + 1 + random_.below(accounts - 1)) % accounts;
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
    /// The how manieth newest that descends from the irreversible one, or the oldest of these.
    [[nodiscard]] std::size_t any_parent(std::uint32_t newest) const {
        std::size_t found = head_;
        for (std::size_t i = all_.size(); newest > 0 && i > 1; --i) {
            if (!descends_from_root(i - 1)) continue;
            found = i - 1;
            --newest;
        }
        return found;
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
    random_source random_{1}; ///< who pays whom: a tree is made by what it is told alone
};

/// A payments chain with a node over it.
struct payments_node : small_chain {
    captured_log quiet;
    driver::live::arrivals queue{1000};
    driver::live::live_node node;

    explicit payments_node(std::int64_t lag = 10, driver::live::live_node::options how = {})
        : small_chain("payments", lag), node(state, queue, how) {
        state.apply(
            made({payments::account_create{"alice", 100}, payments::account_create{"bob", 10},
                  payments::account_create{"carol", 0}}));
    }

    /// The next block, of a transaction for each operation.
    [[nodiscard]] block made(const std::vector<payments::operation>& operations) const {
        block one{state.head() + 1, 1000 + static_cast<std::int64_t>(state.head()), {}};
        for (const auto& op : operations)
            one.transactions.push_back({{payments::encode(op)}});
        return one;
    }
    [[nodiscard]] std::shared_ptr<const decoded_block>
    decoded(const std::vector<payments::operation>& operations) const {
        return decoder_of("payments")(encode_block(made(operations)));
    }
    /// They arrive, in this order.
    void send(const std::vector<payments::operation>& operations) {
        const auto from = decoded(operations);
        queue.push({from, 0, static_cast<std::uint32_t>(operations.size()), {}, {}});
    }
    void work() { node.work(driver::live::clock::now() + std::chrono::hours(1)); }
    [[nodiscard]] std::int64_t balance(const char* name) {
        return state.state().get<payments::account_object, payments::by_name>(name).balance;
    }
    [[nodiscard]] std::string digest() const { return state.model().state_digest(); }
};

} // namespace chainbase::test
