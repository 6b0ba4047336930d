#pragma once

#include <chainbase/id.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/rules_of_chain.hpp>
#include <tools/chains/swap/objects.hpp>

#include <span>
#include <string>
#include <variant>

namespace chainbase::swap {

/// The fee is a thousandth of the incoming amount.
inline constexpr std::int64_t fee_divisor = 1000;

inline bool holds(const pair_object& pair, const asset& first, const asset& second) {
    return pair.symbol0 == first.symbol && pair.decimals0 == first.decimals &&
           pair.symbol1 == second.symbol && pair.decimals1 == second.decimals;
}

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
        const auto pairs = state_.template view<pair_object, by_pair_id>();
        const auto owners = state_.template view<owner_object, by_name>();
        for (const operation& one : all) {
            const auto& op = std::get<swap>(one);
            visit(pairs, op.pair_id);
            visit(owners, op.owner);
        }
    }

    void operator()(const swap& op) {
        // Rule 1: what a swap is.
        const bool in_is_0 = same_token(op.quantity_in, op.reserve0);
        const auto pair_name = [&] { return "pair " + std::to_string(op.pair_id); };
        require(!same_token(op.reserve0, op.reserve1), "a pair has two tokens", pair_name);
        require(in_is_0 || same_token(op.quantity_in, op.reserve1),
                "the token that comes in belongs to the pair", pair_name);
        require(same_token(op.quantity_out, in_is_0 ? op.reserve1 : op.reserve0),
                "the token that goes out is the pair's other one", pair_name);
        require(op.quantity_in.amount >= 0 && op.quantity_out.amount >= 0 &&
                    op.reserve0.amount >= 0 && op.reserve1.amount >= 0,
                "an amount is not negative", pair_name);
        require(op.owner != owner_name(), "an owner has a name");

        const pair_object& pair = pair_of(op);
        if (pair.swaps == 0)
            ++totals_.first_of_pair;
        else
            compare(op, pair, in_is_0);
        // Rule 4: the logged reserves hold.
        state_.modify(pair, [&](pair_object& one) {
            one.reserve0 = op.reserve0.amount;
            one.reserve1 = op.reserve1.amount;
            (in_is_0 ? one.volume0 : one.volume1) += static_cast<uint128>(op.quantity_in.amount);
            ++one.swaps;
            one.last_time = totals_.head_time;
        });
        state_.modify(owner_of(op), [&](owner_object& one) {
            ++one.swaps;
            one.last_time = totals_.head_time;
        });
        ++totals_.swaps;
    }

    // --- what a replay is judged by ---

    [[nodiscard]] named_counts oracle() const override {
        const global_object& all = global();
        return {{"first_of_pair", all.first_of_pair},
                {"out_exact", all.out_exact},
                {"out_other", all.out_other},
                {"in_exact", all.in_exact},
                {"in_other", all.in_other}};
    }

    void check() const override {
        const global_object& all = global();
        const auto swaps = static_cast<std::int64_t>(all.swaps);
        std::uint64_t of_pairs = 0, of_owners = 0;
        for (const pair_object& one : state_.template objects<pair_object>())
            of_pairs += one.swaps;
        for (const owner_object& one : state_.template objects<owner_object>())
            of_owners += one.swaps;
        if (all.first_of_pair + all.out_exact + all.out_other != swaps ||
            all.first_of_pair + all.in_exact + all.in_other != swaps || of_pairs != all.swaps ||
            of_owners != all.swaps)
            throw damaged_error("the swaps do not add up: " + std::to_string(swaps) + " in all, " +
                                std::to_string(of_pairs) + " of pairs, " +
                                std::to_string(of_owners) + " of owners");
    }

    [[nodiscard]] verification verify() const override {
        verification all;
        for (const pair_object& one : state_.template objects<pair_object>()) {
            ++all.objects;
            if (state_.template find<pair_object, by_pair_id>(one.pair_id) != &one)
                all.report("pair " + std::to_string(one.pair_id) + " is not found by its number");
        }
        for (const owner_object& one : state_.template objects<owner_object>()) {
            ++all.objects;
            if (state_.template find<owner_object, by_name>(one.name) != &one)
                all.report("owner " + std::string(one.name.view()) + " is not found by name");
        }
        all.in_memory = all.objects;
        return all;
    }

    /// See rules_of_chain.
    template <typename Visitor>
    static void each_type(Visitor visit) {
        visit.template operator()<pair_object>("pair");
        visit.template operator()<owner_object>("owner");
        visit.template operator()<global_object>("global");
    }

private:
    /// Rule 2: a pair begins with its first swap, and keeps its tokens.
    const pair_object& pair_of(const swap& op) {
        if (const pair_object* known = state_.template find<pair_object, by_pair_id>(op.pair_id)) {
            require(holds(*known, op.reserve0, op.reserve1), "a pair keeps its tokens",
                    [&] { return "pair " + std::to_string(op.pair_id); });
            return *known;
        }
        return state_.template create<pair_object>([&](pair_object& one) {
            one.pair_id = op.pair_id;
            one.symbol0 = op.reserve0.symbol;
            one.symbol1 = op.reserve1.symbol;
            one.decimals0 = op.reserve0.decimals;
            one.decimals1 = op.reserve1.decimals;
        });
    }

    /// Rule 3: whether the logged reserves follow from the previous ones.
    void compare(const swap& op, const pair_object& before, bool in_is_0) {
        const std::int64_t in = op.quantity_in.amount;
        const auto in_before = static_cast<int128>(in_is_0 ? before.reserve0 : before.reserve1);
        const auto out_before = static_cast<int128>(in_is_0 ? before.reserve1 : before.reserve0);
        const std::int64_t in_after = (in_is_0 ? op.reserve0 : op.reserve1).amount;
        const std::int64_t out_after = (in_is_0 ? op.reserve1 : op.reserve0).amount;
        const bool out_follows = out_after == out_before - op.quantity_out.amount;
        const bool in_follows = in_after == in_before + in - in / fee_divisor;
        ++(out_follows ? totals_.out_exact : totals_.out_other);
        ++(in_follows ? totals_.in_exact : totals_.in_other);
    }

    const owner_object& owner_of(const swap& op) {
        if (const owner_object* known = state_.template find<owner_object, by_name>(op.owner))
            return *known;
        return state_.template create<owner_object>([&](owner_object& one) {
            one.name = op.owner;
            one.first_time = totals_.head_time;
        });
    }
};

} // namespace chainbase::swap
