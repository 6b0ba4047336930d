#pragma once

#include <chainbase/id.hpp>
#include <tools/chains/payments/objects.hpp>
#include <tools/chains/rules_of_chain.hpp>

#include <span>
#include <string>

namespace chainbase::payments {

/// The rules of README.md, under its numbers, over any engine that offers the calls of database
/// that they make: create, modify, get, find, objects, next_id, add_type. See chain_model;
/// model.hpp makes the one over a chainbase state.
template <typename State>
class rules final : public rules_of_chain<rules<State>, State, operation, global_object> {
    using base = rules_of_chain<rules<State>, State, operation, global_object>;
    using base::global;
    using base::state_;
    using base::totals_;

public:
    using typename base::named_counts;

    /// Registers the types in `state`.
    explicit rules(State& state) : base(add_types(state)) {}

    [[nodiscard]] std::uint64_t answer(std::uint64_t question) const override;

    std::size_t hand_over(std::size_t) override { return 0; }
    std::size_t hand_over_behind(std::size_t) override { return 0; }
    [[nodiscard]] named_counts archived() const override { return {}; }
    [[nodiscard]] named_counts oracle() const override;
    void check() const override;
    [[nodiscard]] verification verify() const override;
    [[nodiscard]] std::string state_digest() const override;
    void commit_to(archive::committed_state& root) const override;

    /// The rules, one for each operation.
    /// @{
    void operator()(const account_create& op);
    void operator()(const payment& op);
    /// @}

    /// See rules_of_chain.
    template <typename Visitor>
    void each_key(std::span<const operation> all, Visitor visit) const;

private:
    static State& add_types(State& state);
    [[nodiscard]] const account_object& account(const account_name& name) const {
        return state_.template get<account_object, by_name>(name);
    }
};

} // namespace chainbase::payments

#include <tools/chains/payments/detail/rules.ipp>
