#pragma once

#include <chainbase/id.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/operations_block.hpp>

#include <cstddef>
#include <cstdint>
#include <variant>

namespace chainbase {

/// What the rules of every chain have in common: how a block's transactions are applied, and that
/// the chain's totals (the one object of type Global, with `head_number` and `head_time`) are kept
/// beside the state while a block is under way and written once at its end.
///
/// Rules, the class that derives from it, is called with each operation of the variant Operation,
/// and has each_key(operations, visit), which calls visit(view, key...) for the hashed keys by
/// which they will look for objects.
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
            totals_ = before; // what no session takes back
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

    void prefetch_keys(const decoded_block& from, std::size_t transaction) const override {
        each_key(from, transaction,
                 [](const auto& keys, const auto&... key) { keys.prefetch(key...); });
    }
    void prefetch_objects(const decoded_block& from, std::size_t transaction) const override {
        each_key(from, transaction,
                 [](const auto& keys, const auto&... key) { keys.prefetch_object(key...); });
    }
    void prefetch_ids(const decoded_block& from, std::size_t transaction) const override {
        each_key(from, transaction,
                 [](const auto& keys, const auto&... key) { keys.prefetch_id(key...); });
    }

protected:
    /// Requires that `state` knows Global; makes the one object of it when there is none.
    explicit rules_of_chain(State& state) : state_(state) {
        if (!state.find(only)) state.template create<Global>([](Global&) {});
    }

    [[nodiscard]] const Global& global() const { return state_.get(only); }

    State& state_;
    Global totals_; ///< of the block under way

private:
    static constexpr id<Global> only{0};

    static const operations_block<Operation>& block_of(const decoded_block& from) {
        return static_cast<const operations_block<Operation>&>(from);
    }
    template <typename Visitor>
    void each_key(const decoded_block& from, std::size_t transaction, Visitor visit) const {
        static_cast<const Rules&>(*this).each_key(block_of(from).of(transaction), visit);
    }
};

} // namespace chainbase
