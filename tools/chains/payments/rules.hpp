#pragma once

#include <chainbase/id.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/payments/objects.hpp>
#include <tools/chains/rules_of_chain.hpp>

#include <span>
#include <string>
#include <variant>

namespace chainbase::payments {

/// The rules of README.md, in its numbering, over any engine with these calls of database: create,
/// modify, get, find, objects, next_id, add_type. See chain_model; make_model() of chains.hpp
/// instantiates it over a chainbase state.
template <typename State>
class rules final : public rules_of_chain<rules<State>, State, operation, global_object> {
    using base = rules_of_chain<rules<State>, State, operation, global_object>;
    using base::global;
    using base::state_;
    using base::totals_;

public:
    using typename base::named_counts;

    /// Registers the types in `state`.
    explicit rules(State& state) : base(state) {}

    /// See rules_of_chain.
    template <typename Visitor>
    void each_key(std::span<const operation> all, Visitor visit) const {
        const auto accounts = state_.template view<account_object, by_name>();
        for (const operation& one : all) {
            if (const auto* made = std::get_if<account_create>(&one)) {
                visit(accounts, made->name);
            } else {
                const auto& op = std::get<payment>(one);
                visit(accounts, op.from);
                visit(accounts, op.to);
            }
        }
    }

    // --- rule 1: accounts ---

    void operator()(const account_create& op) {
        require(op.name != account_name(), "an account has a name");
        require(op.balance >= 0, "a balance is not negative");
        add(totals_.issued, op.balance, "the money of all accounts");
        state_.template create<account_object>([&](account_object& one) {
            one.name = op.name;
            one.balance = op.balance;
        });
    }

    // --- rule 2: payments ---

    void operator()(const payment& op) {
        require(op.amount > 0, "an amount is above 0");
        require(op.from != op.to, "money goes to another account");
        const account_object& from = account(op.from);
        const account_object& to = account(op.to);
        require(from.balance >= op.amount, "the payer has the money",
                [&] { return std::string(op.from.view()); });
        state_.modify(from, [&](account_object& one) {
            one.balance -= op.amount;
            ++one.sent;
        });
        state_.modify(to, [&](account_object& one) {
            one.balance += op.amount; // at most what was issued
            ++one.received;
        });
        ++totals_.payments;
    }

    // --- what a replay is judged by ---

    [[nodiscard]] named_counts oracle() const override {
        return {{"payments", static_cast<std::int64_t>(global().payments)},
                {"issued", global().issued}};
    }

    void check() const override {
        std::int64_t held = 0;
        std::uint32_t sent = 0, received = 0; // modulo 2^32, as the accounts count
        for (const account_object& one : state_.template objects<account_object>()) {
            held += one.balance;
            sent += one.sent;
            received += one.received;
        }
        const global_object& all = global();
        if (held != all.issued)
            throw damaged_error("the money does not add up: " + std::to_string(all.issued) +
                                " was issued, the accounts hold " + std::to_string(held));
        const auto payments = static_cast<std::uint32_t>(all.payments);
        if (sent != payments || received != payments)
            throw damaged_error("the payments do not add up: modulo 2^32 there are " +
                                std::to_string(payments) + " in all, " + std::to_string(sent) +
                                " sent, " + std::to_string(received) + " received");
    }

    [[nodiscard]] verification verify() const override {
        verification all;
        for (const account_object& one : state_.template objects<account_object>()) {
            ++all.objects;
            if (state_.template find<account_object, by_name>(one.name) != &one)
                all.report("account " + std::string(one.name.view()) + " is not found by name");
        }
        all.in_memory = all.objects;
        return all;
    }

    /// See rules_of_chain.
    template <typename Visitor>
    static void each_type(Visitor visit) {
        visit.template operator()<account_object>("account");
        visit.template operator()<global_object>("global");
    }

private:
    [[nodiscard]] const account_object& account(const account_name& name) const {
        return state_.template get<account_object, by_name>(name);
    }
};

} // namespace chainbase::payments
