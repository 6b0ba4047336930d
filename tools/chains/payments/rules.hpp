#pragma once

#include <chainbase/id.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/payments/objects.hpp>

#include <string>

namespace chainbase::payments {

/// The rules of README.md, under its numbers, over any engine that offers the calls of database
/// that they make: create, modify, get, find, objects, next_id, add_type. See chain_model;
/// model.hpp makes the one over a chainbase state.
template <typename State>
class rules final : public chain_model {
public:
    /// Registers the types in `state`.
    explicit rules(State& state) : state_(add_types(state)) {}

    void begin_block(std::uint64_t number, std::int64_t timestamp) override;
    void apply(const decoded_block& from, std::size_t transaction) override;
    void end_block() override;
    void begin_pending(std::int64_t timestamp) override;
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

    [[nodiscard]] std::uint64_t answer(std::uint64_t question) const override;

    std::size_t hand_over(std::size_t) override { return 0; }
    std::size_t hand_over_behind(std::size_t) override { return 0; }
    [[nodiscard]] named_counts archived() const override { return {}; }
    [[nodiscard]] named_counts oracle() const override;
    void check() const override;
    [[nodiscard]] verification verify() const override;
    [[nodiscard]] std::string state_digest() const override;

    /// The rules, one for each operation.
    /// @{
    void operator()(const account_create& op);
    void operator()(const payment& op);
    /// @}

private:
    static constexpr id<global_object> only{0};

    static State& add_types(State& state);
    template <typename Visitor>
    void each_key(const decoded_block& from, std::size_t transaction, Visitor visit) const;

    [[nodiscard]] const global_object& global() const { return state_.get(only); }
    [[nodiscard]] const account_object& account(const account_name& name) const {
        return state_.template get<account_object, by_name>(name);
    }

    State& state_;
    global_object totals_; ///< of the block under way, written once at its end
};

} // namespace chainbase::payments

#include <tools/chains/payments/detail/rules.ipp>
