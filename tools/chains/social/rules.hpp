#pragma once

#include <archive/found.hpp>
#include <chainbase/id.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/rules_of_chain.hpp>
#include <tools/chains/social/objects.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace chainbase::social {

/// Shares the voters' part of a comment in proportion to positive rshares. Each share is rounded
/// down, so a remainder of less than one milli-HBD per voter is left.
class curation {
public:
    explicit curation(std::int64_t payout) : payout_(payout), left_(payout) {}

    /// Counts a vote; call it for all votes before the first share().
    void add(std::int64_t rshares) {
        if (rshares > 0) positive_ += static_cast<uint128>(rshares);
    }
    /// Whether there is a vote to share with.
    [[nodiscard]] bool has_curators() const noexcept { return positive_ != 0; }

    /// The share of a vote with these rshares: floor(payout * rshares / sum of positive rshares).
    /// The product has at most 126 bits.
    [[nodiscard]] std::int64_t share(std::int64_t rshares) noexcept {
        if (rshares <= 0) return 0;
        const uint128 product = static_cast<uint128>(payout_) * static_cast<uint128>(rshares);
        const auto share = static_cast<std::int64_t>(product / positive_);
        left_ -= share;
        return share;
    }
    /// The part not shared yet; after the last vote the remainder, which goes to the author.
    [[nodiscard]] std::int64_t left() const noexcept { return left_; }

private:
    std::int64_t payout_;
    std::int64_t left_;
    uint128 positive_ = 0;
};

/// "alice/one": names an operation's comment in messages.
template <typename Operation>
std::string name_of(const Operation& op) {
    return std::string(op.author.view()) + "/" + op.permlink;
}

/// The rules of README.md, in its order and numbering, over any engine that offers the calls of
/// these two:
///
///  - State: as database, the calls create, modify, get, find, view, objects, remove, add_type and
///    committed_revision;
///  - Comments: as archive::lifecycle of comment_object by by_permlink.
///
/// See chain_model; make_model() of chains.hpp instantiates it over a chainbase state.
template <typename State, typename Comments>
class rules final : public rules_of_chain<rules<State, Comments>, State, operation, global_object> {
    using base = rules_of_chain<rules<State, Comments>, State, operation, global_object>;
    using base::global;
    using base::state_;
    using base::totals_;

public:
    using typename base::named_counts;

    /// Registers the types in `state`. `archive`: the constructor arguments of Comments between the
    /// state and the type's name.
    template <typename... Archive>
    explicit rules(State& state, Archive&&... archive)
        : base(state), comments_(state, std::forward<Archive>(archive)..., "comment") {}

    std::size_t hand_over(std::size_t limit) override {
        return comments_.hand_over(state_.committed_revision(), limit);
    }
    std::size_t hand_over_behind(std::size_t batch) override {
        return comments_.hand_over_behind(state_.committed_revision(), batch);
    }
    [[nodiscard]] named_counts archived() const override {
        return {{"comment", static_cast<std::int64_t>(comments_.archived())}};
    }

    // --- a block; rule 1, cash-outs, comes first ---

    void begin_block(std::uint64_t number, std::int64_t timestamp) override {
        base::begin_block(number, timestamp);
        require(timestamp > global().head_time, "a block's time is after the one before");
        pay_due_comments();
    }

    /// See rules_of_chain.
    template <typename Visitor>
    void each_key(std::span<const operation> all, Visitor visit) {
        const auto accounts = state_.template view<account_object, by_name>();
        const auto comments = state_.template view<comment_object, by_permlink>();
        const auto keys_of = [&](const auto& op) {
            using kind = std::remove_cvref_t<decltype(op)>;
            if constexpr (std::same_as<kind, account_create>) {
                visit(accounts, op.name);
            } else if constexpr (std::same_as<kind, comment>) {
                visit(accounts, op.author);
                visit(comments, op.author, op.permlink);
                if (op.parent_author != account_name())
                    visit(comments, op.parent_author, op.parent_permlink);
            } else if constexpr (std::same_as<kind, vote>) {
                const auto by = visit(accounts, op.voter);
                votes_ahead_.push_back({visit(comments, op.author, op.permlink), by});
            } else if constexpr (std::same_as<kind, comment_delete>) {
                visit(comments, op.author, op.permlink);
            } else if constexpr (std::same_as<kind, deposit>) {
                visit(accounts, op.to);
            } else if constexpr (std::same_as<kind, transfer>) {
                visit(accounts, op.from);
                visit(accounts, op.to);
            } else {
                visit(accounts, op.account);
            }
        };
        for (const operation& one : all)
            std::visit(keys_of, one);
    }

    /// The place of a vote is known when its comment and its voter are found.
    void look_up_noted() override {
        base::look_up_noted();
        const auto votes = state_.template view<vote_object, by_comment_voter>();
        if constexpr (requires { votes.find_many(vote_keys_, std::span(votes_found_)); }) {
            vote_keys_.clear();
            for (const vote_ahead& one : votes_ahead_)
                if (one.on.found() && one.by.found())
                    vote_keys_.emplace_back(one.on.found()->id, one.by.found()->id);
            votes_found_.resize(vote_keys_.size());
            find_together(votes, vote_keys_, std::span(votes_found_));
        }
        votes_ahead_.clear();
    }

    // --- rule 2: accounts ---

    void operator()(const account_create& op) {
        require(op.name != account_name(), "an account has a name");
        state_.template create<account_object>([&](account_object& one) {
            one.name = op.name;
            one.created = totals_.head_time;
        });
        ++totals_.accounts;
    }

    // --- rule 3: posts and replies ---

    void operator()(const comment& op) {
        require(!op.permlink.empty() && op.permlink.size() <= longest_permlink,
                "a permlink has 1 to 256 bytes");
        require(op.parent_permlink.size() <= longest_permlink,
                "a parent's permlink has up to 256 bytes");
        require(op.cashout_time == 0 || op.cashout_time > totals_.head_time,
                "a cash-out is after the comment's creation");
        require(op.author_payout >= 0 && op.curator_payout >= 0, "a payout is not negative");
        require(op.cashout_time != 0 || (op.author_payout == 0 && op.curator_payout == 0),
                "without a cash-out nothing is paid");
        std::int64_t sum = op.author_payout;
        add(sum, op.curator_payout, "a payout");
        const bool is_post = op.parent_author == account_name();
        count(is_post ? &account_object::posts : &account_object::replies, account(op.author));
        require(!comments_.template find<by_permlink>(op.author, op.permlink),
                "the author has a comment with this permlink", [&] { return name_of(op); });
        const id<comment_object> parent = is_post ? comment_object::none : parent_of(op);
        state_.template create<comment_object>([&](comment_object& one) {
            one.author = op.author;
            one.permlink = op.permlink;
            one.parent = parent;
            one.parent_author = op.parent_author;
            one.parent_permlink = op.parent_permlink;
            one.created = totals_.head_time;
            one.cashout_time = op.cashout_time;
            one.author_payout = op.author_payout;
            one.curator_payout = op.curator_payout;
            one.title_bytes = op.title_bytes;
            one.body_bytes = op.body_bytes;
        });
        ++totals_.comments;
    }

    // --- rule 4: votes ---

    void operator()(const vote& op) {
        require(op.percent >= -full_percent && op.percent <= full_percent,
                "a vote is of -100 to 100 percent");
        const auto on = comments_.template find<by_permlink>(op.author, op.permlink);
        require(on.has_value(), "a vote is on a comment that exists", [&] { return name_of(op); });
        require(on->template get<&comment_object::last_payout>() == 0,
                "a vote comes before the payout", [&] { return name_of(op); });
        const account_object& voter = account(op.voter);
        state_.template create<vote_object>([&](vote_object& one) {
            one.comment = on->id();
            one.voter = voter.id;
            one.percent = op.percent;
            one.rshares = op.rshares;
            one.time = totals_.head_time;
        });
        comments_.modify(*on->object(), [&](comment_object& one) {
            ++one.votes;
            add(one.net_rshares, op.rshares, "the rshares of a comment");
        });
        count(&account_object::votes, voter);
        ++totals_.votes;
    }

    // --- rule 5: what the chain carries without understanding it ---

    void operator()(const custom& op) {
        require(op.id.size() <= longest_custom_id,
                "the id of a custom operation has up to 32 bytes");
        count(&account_object::custom_operations, account(op.account));
        ++totals_.custom_operations;
    }

    // --- rule 6: money ---

    void operator()(const deposit& op) {
        require(op.amount > 0, "an amount is above 0");
        add(totals_.deposited, op.amount, "what was deposited");
        require_given_fits();
        state_.modify(account(op.to),
                      [&](account_object& to) { add(to.balance, op.amount, "a balance"); });
    }

    void operator()(const transfer& op) {
        require(op.amount > 0, "an amount is above 0");
        require(op.memo.size() <= longest_memo, "a memo has up to 2048 bytes");
        require(op.from != op.to, "money goes to another account");
        const account_object& from = account(op.from);
        const account_object& to = account(op.to);
        require(from.balance >= op.amount, "the payer has the money",
                [&] { return std::string(op.from.view()); });
        state_.modify(from, [&](account_object& one) { one.balance -= op.amount; });
        state_.modify(to, [&](account_object& one) { add(one.balance, op.amount, "a balance"); });
        ++totals_.transfers;
    }

    void operator()(const claim& op) {
        const account_object& claimant = account(op.account);
        ++totals_.claims;
        if (claimant.unclaimed == 0) return;
        state_.modify(claimant, [](account_object& one) {
            add(one.balance, one.unclaimed, "a balance");
            one.unclaimed = 0;
        });
    }

    // --- rule 7: what is taken back ---

    void operator()(const comment_delete& op) {
        const auto one = comments_.template find<by_permlink>(op.author, op.permlink);
        require(one.has_value(), "a deletion is of a comment that exists",
                [&] { return name_of(op); });
        require(one->template get<&comment_object::children>() == 0, "a comment with replies stays",
                [&] { return name_of(op); });
        const bool is_paid = one->template get<&comment_object::last_payout>() != 0;
        require(is_paid || one->template get<&comment_object::net_rshares>() <= 0,
                "a comment with votes stays until it is paid", [&] { return name_of(op); });
        remove_votes(one->id());
        const comment_object* const parent =
            state_.find(one->template get<&comment_object::parent>());
        if (parent && parent->last_payout == 0)
            comments_.modify(*parent, [](comment_object& above) { --above.children; });
        comments_.remove(one->id());
        ++totals_.deleted_comments;
    }

    // --- what a replay is judged by ---

    [[nodiscard]] named_counts oracle() const override {
        const global_object& all = global();
        return {{"paid_posts", all.paid_posts},
                {"author_paid", all.author_paid},
                {"curator_paid", all.curator_paid},
                {"curator_remainder_to_author", all.curator_remainder_to_author},
                {"unassigned", all.unassigned},
                {"votes_on_paid", all.votes_on_paid},
                {"sum_of_balances", static_cast<std::int64_t>(sum_of_balances())}};
    }

    void check() const override {
        const global_object& all = global();
        const int128 given =
            static_cast<int128>(all.author_paid) + all.curator_paid + all.deposited;
        const int128 held = sum_of_balances();
        if (given != held)
            throw damaged_error("the money does not add up: " + to_string(given) +
                                " milli-HBD were paid and deposited, the accounts hold " +
                                to_string(held));
    }

    [[nodiscard]] verification verify() const override {
        verification all;
        const auto ever = static_cast<std::uint32_t>(global().comments);
        all.objects = ever - global().deleted_comments;
        for (std::uint32_t number = 0; number < ever; ++number)
            if (const auto one = comments_.find(id<comment_object>(number)))
                verify_comment(*one, all);
        if (all.in_memory + all.in_archive != all.objects)
            all.report(std::to_string(all.in_memory + all.in_archive) +
                       " comments are found by their "
                       "numbers, " +
                       std::to_string(all.objects) + " were made and not deleted");
        if (all.in_archive != comments_.archived())
            all.report(std::to_string(comments_.archived()) + " comments left memory, " +
                       std::to_string(all.in_archive) + " are in the archive alone");
        return all;
    }

    /// See rules_of_chain.
    template <typename Visitor>
    static void each_type(Visitor visit) {
        visit.template operator()<account_object>("account");
        visit.template operator()<comment_object>("comment");
        visit.template operator()<vote_object>("vote");
        visit.template operator()<global_object>("global");
    }
    template <std::same_as<comment_object>, typename Self>
    static auto& in_archive(Self& self) {
        return self.comments_;
    }

private:
    // --- rule 1: cash-outs come first, by cash-out time and id ---

    void pay_due_comments() {
        const auto waiting = state_.template view<comment_object, by_cashout_time>();
        for (;;) {
            const auto due = waiting.lower_bound(std::int64_t{1});
            if (due == waiting.end() || due->cashout_time > totals_.head_time) return;
            pay(*due);
        }
    }

    void pay(const comment_object& due) {
        const std::int64_t remainder = pay_curators(due);
        credit(account(due.author).id, &account_object::author_rewards,
               due.author_payout + remainder);
        add(totals_.author_paid, due.author_payout, "what authors were paid");
        add(totals_.curator_remainder_to_author, remainder, "what rounding left");
        require_given_fits();
        ++totals_.paid_posts;
        state_.modify(due, [](comment_object& paid) {
            paid.last_payout = paid.cashout_time;
            paid.cashout_time = 0;
        });
        comments_.retire(due);
    }

    /// Shares the voters' part and removes the votes. Returns the rounding remainder.
    std::int64_t pay_curators(const comment_object& due) {
        std::vector<const vote_object*> votes;
        curation shares(due.curator_payout);
        const auto [begin, end] =
            state_.template view<vote_object, by_comment_voter>().equal_range(due.id);
        for (auto at = begin; at != end; ++at) {
            votes.push_back(&*at);
            shares.add(at->rshares);
        }
        totals_.votes_on_paid += static_cast<std::int64_t>(votes.size());
        for (const vote_object* one : votes) {
            credit(one->voter, &account_object::curation_rewards, shares.share(one->rshares));
            state_.remove(*one);
        }
        add(shares.has_curators() ? totals_.curator_paid : totals_.unassigned, due.curator_payout,
            "what voters were paid");
        return shares.has_curators() ? shares.left() : 0;
    }

    void credit(id<account_object> account, std::int64_t account_object::* kind,
                std::int64_t amount) {
        if (amount == 0) return;
        state_.modify(state_.get(account), [&](account_object& to) {
            add(to.unclaimed, amount, "what an account can claim");
            add(to.*kind, amount, "what an account was paid");
        });
    }

    /// Requires that the sum of all money given fits, and with it every sum of balances.
    void require_given_fits() const {
        std::int64_t sum = totals_.author_paid;
        add(sum, totals_.curator_paid, "the money of all accounts");
        add(sum, totals_.deposited, "the money of all accounts");
    }

    void count(std::uint32_t account_object::* what, const account_object& in) {
        state_.modify(in, [&](account_object& one) { ++(one.*what); });
    }

    /// The parent of a reply, whose reply count rises while it is unpaid.
    [[nodiscard]] id<comment_object> parent_of(const comment& op) {
        const auto parent =
            comments_.template find<by_permlink>(op.parent_author, op.parent_permlink);
        if (!parent) return comment_object::none;
        if (parent->in_memory() && !comments_.is_retired(parent->id()))
            comments_.modify(*parent->object(), [](comment_object& one) { ++one.children; });
        return parent->id();
    }

    void remove_votes(id<comment_object> on) {
        const auto votes = state_.template view<vote_object, by_comment_voter>();
        for (auto at = votes.lower_bound(on); at != votes.end() && at->comment == on;
             at = votes.lower_bound(on))
            state_.remove(*at);
    }

    [[nodiscard]] int128 sum_of_balances() const {
        int128 sum = 0;
        for (const account_object& one : state_.template objects<account_object>())
            sum += static_cast<int128>(one.balance) + one.unclaimed;
        return sum;
    }

    void verify_comment(const archive::found<comment_object>& by_id, verification& all) const {
        const std::string who = "comment " + std::to_string(by_id.id().value);
        ++(by_id.in_memory() ? all.in_memory : all.in_archive);
        const bool paid = by_id.template get<&comment_object::last_payout>() != 0;
        if (!paid && !by_id.in_memory()) all.report(who + " is not paid, but in the archive");
        if (paid && by_id.in_memory() && !comments_.is_retired(by_id.id()))
            all.report(who + " is paid, but not on its way to the archive");
        const auto by_key =
            comments_.template find<by_permlink>(by_id.template get<&comment_object::author>(),
                                                 by_id.template get<&comment_object::permlink>());
        if (!by_key || by_key->id() != by_id.id() || by_key->in_memory() != by_id.in_memory())
            all.report(who + " is not found by author and permlink");
    }

    [[nodiscard]] const account_object& account(const account_name& name) const {
        return state_.template get<account_object, by_name>(name);
    }

    /// A vote whose comment and voter are being looked up.
    struct vote_ahead {
        template <typename T, typename Tag, typename... Key>
        using noted =
            keys_ahead::noted<decltype(std::declval<const State&>().template view<T, Tag>()),
                              Key...>;
        noted<comment_object, by_permlink, decltype(vote::author), decltype(vote::permlink)> on;
        noted<account_object, by_name, decltype(vote::voter)> by;
    };

    Comments comments_;
    std::vector<vote_ahead> votes_ahead_;
    std::vector<std::tuple<id<comment_object>, id<account_object>>> vote_keys_;
    std::vector<const vote_object*> votes_found_;
};

} // namespace chainbase::social
