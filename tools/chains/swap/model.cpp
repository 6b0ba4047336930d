#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>
#include <tools/chains/apply_operations.hpp>
#include <tools/chains/swap/model.hpp>
#include <tools/chains/swap/objects.hpp>

#include <variant>

/// The rules of the swap chain, under the numbers of README.md.
namespace chainbase::swap {
namespace {

constexpr std::int64_t fee_divisor = 1000;

constexpr id<global_object> only{0};

class model final : public chain_model {
public:
    explicit model(database& state) : state_(add_types(state)) {}

    void apply(const block& next) override;
    std::size_t hand_over(std::size_t) override { return 0; }
    [[nodiscard]] named_counts archived() const override { return {}; }
    [[nodiscard]] named_counts oracle() const override;
    void check() const override;
    [[nodiscard]] verification verify() const override;
    [[nodiscard]] std::string state_digest() const override;

    void operator()(const swap& op);

private:
    static database& add_types(database& state);
    void begin_block(const block& next);
    const pair_object& pair_of(const swap& op);
    void compare(const swap& op, const pair_object& before, bool in_is_0);
    const owner_object& owner_of(const swap& op);

    [[nodiscard]] const global_object& global() const { return state_.get(only); }

    database& state_;
    global_object totals_; ///< of the block being applied, written once at its end
};

database& model::add_types(database& state) {
    state.add_type<pair_object>("pair");
    state.add_type<owner_object>("owner");
    state.add_type<global_object>("global");
    if (!state.find(only)) state.create<global_object>([](global_object&) {});
    return state;
}

void model::apply(const block& next) {
    begin_block(next);
    apply_operations(next, decode_operation, [&](const operation& one) { std::visit(*this, one); });
    state_.modify(global(), [&](global_object& all) { all = totals_; });
}

void model::begin_block(const block& next) {
    totals_ = global();
    require(next.number > totals_.head_number, "a block's number is above the one before");
    require(next.timestamp >= totals_.head_time, "a block's time is not before the last one");
    totals_.head_number = next.number;
    totals_.head_time = next.timestamp;
}

bool holds(const pair_object& pair, const asset& first, const asset& second) {
    return pair.symbol0 == first.symbol && pair.decimals0 == first.decimals &&
           pair.symbol1 == second.symbol && pair.decimals1 == second.decimals;
}

void model::operator()(const swap& op) {
    // Rule 1: what a swap is.
    const bool in_is_0 = same_token(op.quantity_in, op.reserve0);
    const auto pair_name = [&] { return "pair " + std::to_string(op.pair_id); };
    require(!same_token(op.reserve0, op.reserve1), "a pair is of two tokens", pair_name);
    require(in_is_0 || same_token(op.quantity_in, op.reserve1), "what comes in is of the pair",
            pair_name);
    require(same_token(op.quantity_out, in_is_0 ? op.reserve1 : op.reserve0),
            "what goes out is the pair's other token", pair_name);
    require(op.quantity_in.amount >= 0 && op.quantity_out.amount >= 0 && op.reserve0.amount >= 0 &&
                op.reserve1.amount >= 0,
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

/// Rule 2: a pair begins with its first swap, and keeps its tokens.
const pair_object& model::pair_of(const swap& op) {
    if (const pair_object* known = state_.find<pair_object, by_pair_id>(op.pair_id)) {
        require(holds(*known, op.reserve0, op.reserve1), "a pair keeps its tokens",
                [&] { return "pair " + std::to_string(op.pair_id); });
        return *known;
    }
    return state_.create<pair_object>([&](pair_object& one) {
        one.pair_id = op.pair_id;
        one.symbol0 = op.reserve0.symbol;
        one.symbol1 = op.reserve1.symbol;
        one.decimals0 = op.reserve0.decimals;
        one.decimals1 = op.reserve1.decimals;
    });
}

/// Rule 3: whether the logged reserves follow from the ones before.
void model::compare(const swap& op, const pair_object& before, bool in_is_0) {
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

const owner_object& model::owner_of(const swap& op) {
    if (const owner_object* known = state_.find<owner_object, by_name>(op.owner)) return *known;
    return state_.create<owner_object>([&](owner_object& one) {
        one.name = op.owner;
        one.first_time = totals_.head_time;
    });
}

// --- what a replay is judged by ---

chain_model::named_counts model::oracle() const {
    const global_object& all = global();
    return {{"first_of_pair", all.first_of_pair},
            {"out_exact", all.out_exact},
            {"out_other", all.out_other},
            {"in_exact", all.in_exact},
            {"in_other", all.in_other}};
}

void model::check() const {
    const global_object& all = global();
    const auto swaps = static_cast<std::int64_t>(all.swaps);
    std::uint64_t of_pairs = 0, of_owners = 0;
    for (const pair_object& one : state_.objects<pair_object>())
        of_pairs += one.swaps;
    for (const owner_object& one : state_.objects<owner_object>())
        of_owners += one.swaps;
    if (all.first_of_pair + all.out_exact + all.out_other != swaps ||
        all.first_of_pair + all.in_exact + all.in_other != swaps || of_pairs != all.swaps ||
        of_owners != all.swaps)
        throw damaged_error("the swaps do not add up: " + std::to_string(swaps) + " in all, " +
                            std::to_string(of_pairs) + " of pairs, " + std::to_string(of_owners) +
                            " of owners");
}

verification model::verify() const {
    verification all;
    for (const pair_object& one : state_.objects<pair_object>()) {
        ++all.objects;
        if (state_.find<pair_object, by_pair_id>(one.pair_id) != &one)
            all.report("pair " + std::to_string(one.pair_id) + " is not found by its number");
    }
    for (const owner_object& one : state_.objects<owner_object>()) {
        ++all.objects;
        if (state_.find<owner_object, by_name>(one.name) != &one)
            all.report("owner " + std::string(one.name.view()) + " is not found by name");
    }
    all.in_memory = all.objects;
    return all;
}

std::string model::state_digest() const {
    archive::state_digest digest;
    digest.add<pair_object>(state_, "pair");
    digest.add<owner_object>(state_, "owner");
    digest.add<global_object>(state_, "global");
    return digest.hex();
}

} // namespace

std::unique_ptr<chain_model> make_model(database& state) {
    return std::make_unique<model>(state);
}

} // namespace chainbase::swap
