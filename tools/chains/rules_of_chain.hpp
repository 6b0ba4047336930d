#pragma once

#include <archive/committed_state.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/feed/replica.hpp>
#include <chainbase/id.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/decoded_block.hpp>
#include <tools/chains/keys_ahead.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace chainbase {

/// A decoded_block whose operations are of the variant Operation.
template <typename Operation>
class operations_block final : public decoded_block {
public:
    /// Decodes a block of a log. A malformed operation is kept as malformed(); throws damaged_error
    /// when the frame around the operations is malformed.
    explicit operations_block(byte_view encoded) { read(encoded); }

    /// The operations of one transaction, as far as they could be decoded.
    [[nodiscard]] std::span<const Operation> of(std::size_t transaction) const noexcept {
        const std::size_t begin = std::min(begin_of(transaction), decoded_.size());
        const std::size_t end = std::min(begin + operations_of(transaction), decoded_.size());
        return std::span(decoded_).subspan(begin, end - begin);
    }

private:
    void expect(std::size_t operations) override { decoded_.reserve(operations); }
    [[nodiscard]] std::size_t own_memory() const noexcept override {
        return sizeof(*this) + decoded_.capacity() * sizeof(Operation);
    }
    void add(byte_view operation) override {
        decoded_.push_back(codec::decode<Operation>(operation, "operation"));
    }

    std::vector<Operation> decoded_;
};

/// Calls apply(operation) for every operation of one transaction, in order.
///
/// Faults of the transaction itself throw rejected_error with the position ("transaction 2 of 3,
/// operation 1 of 1: ..."): a malformed operation, a broken rule, a key that is taken or does not
/// exist. Everything else passes through, above all a full or unreadable database or store: another
/// copy of the block would not help.
template <typename Operation, typename Apply>
void apply_transaction(const operations_block<Operation>& from, std::size_t transaction,
                       Apply&& apply) {
    std::size_t at = 0;
    const auto reject = [&](const std::string& why) {
        throw rejected_error("transaction " + std::to_string(transaction + 1) + " of " +
                             std::to_string(from.transactions()) + ", operation " +
                             std::to_string(at + 1) + " of " +
                             std::to_string(from.operations_of(transaction)) + ": " + why);
    };
    try {
        for (const Operation& one : from.of(transaction)) {
            apply(one);
            ++at;
        }
    } catch (const rejected_error& problem) {
        reject(problem.what());
    } catch (const duplicate_key_error& problem) {
        reject(problem.what());
    } catch (const not_found_error& problem) {
        reject(problem.what());
    }
    if (at < from.operations_of(transaction)) reject(from.malformed()->reason);
}

/// What all chains have in common: how a block's transactions are applied, and that the chain's
/// totals (the one object of type Global, with `head_number` and `head_time`) are kept outside the
/// state during a block and written once at its end.
///
/// The derived class Rules is called with each operation of the variant Operation, and has
///
///  - each_key(operations, visit), which calls visit(view, key...) for the keys that they will look
///    up;
///  - static each_type(visit), which calls visit.template operator()<T>(name) for its types;
///  - static in_archive<T>(rules), for types whose objects move to the archive: what moves them.
template <typename Rules, typename State, typename Operation, typename Global>
class rules_of_chain : public chain_model {
public:
    void begin_block(std::uint64_t number, std::int64_t timestamp) override {
        totals_ = global();
        require(number > totals_.head_number, "a block's number is above the one before");
        require(timestamp >= totals_.head_time, "a block's time is not before the last one");
        totals_.head_number = number;
        totals_.head_time = timestamp;
    }
    void apply(const decoded_block& from, std::size_t transaction) override {
        const Global before = totals_;
        try {
            apply_transaction(block_of(from), transaction, [&](const Operation& one) {
                std::visit(static_cast<Rules&>(*this), one);
            });
        } catch (...) {
            totals_ = before; // no session restores these
            throw;
        }
    }
    void end_block() override {
        state_.modify(global(), [&](Global& all) { all = totals_; });
    }
    void begin_pending(std::int64_t timestamp) override {
        totals_ = global();
        ++totals_.head_number;
        totals_.head_time = timestamp;
    }

    void note_keys(const decoded_block& from, std::size_t transaction) override {
        static_cast<Rules&>(*this).each_key(
            block_of(from).of(transaction),
            [&](const auto& keys, const auto&... key) { return ahead_.add(keys, key...); });
    }
    void look_up_noted() override { ahead_.look_up(); }

    [[nodiscard]] std::string state_digest() const override {
        archive::state_digest digest;
        each_type_of(
            static_cast<const Rules&>(*this),
            [&]<typename T>(const char* name) { digest.add<T>(state_, name); },
            [&](auto& moved) { digest.add(moved); });
        return digest.hex();
    }
    void commit_to(archive::committed_state& root) const override {
        add_to(root, static_cast<const Rules&>(*this));
    }
    void copy_by(feed::replica& to) override { add_to(to, static_cast<Rules&>(*this)); }

protected:
    /// Registers the types in `state`, and creates the one object of Global if it is missing.
    explicit rules_of_chain(State& state) : state_(state) {
        Rules::each_type([&]<typename T>(const char* name) { state.template add_type<T>(name); });
        if (!state.find(only)) state.template create<Global>([](Global&) {});
    }

    [[nodiscard]] const Global& global() const { return state_.get(only); }

    State& state_;
    Global totals_; ///< of the current block

private:
    static constexpr id<Global> only{0};

    static const operations_block<Operation>& block_of(const decoded_block& from) {
        return static_cast<const operations_block<Operation>&>(from);
    }

    template <typename Self, typename Memory, typename Moved>
    static void each_type_of(Self& rules, Memory in_memory, Moved moved) {
        Rules::each_type([&]<typename T>(const char* name) {
            if constexpr (requires { Rules::template in_archive<T>(rules); })
                moved(Rules::template in_archive<T>(rules));
            else
                in_memory.template operator()<T>(name);
        });
    }
    /// Where nothing but the digest is asked for (other engines), what moves objects has no more.
    template <typename To, typename Self>
    static void add_to(To& to, Self& rules) {
        each_type_of(
            rules, [&]<typename T>(const char* name) { to.template add<T>(name); },
            [&](auto& moved) {
                if constexpr (requires { to.add(moved); }) to.add(moved);
            });
    }

    keys_ahead ahead_;
};

} // namespace chainbase
