#include <pool_allocator/base/error.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/activity.hpp>
#include <tools/driver/generate/block_source.hpp>
#include <tools/driver/generate/open_comments.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace chainbase::generate {

namespace {

constexpr std::uint32_t fewest_accounts = 10;
constexpr std::uint32_t max_default_accounts = 1'000'000;

void require_valid(const chain_options& options) {
    if (options.accounts < 2 || options.accounts > max_accounts)
        throw usage_error("a chain has 2 to " + std::to_string(max_accounts) + " accounts");
    if (options.accounts > options.operations / 2)
        throw usage_error(std::to_string(options.operations) + " operations are too few for " +
                          std::to_string(options.accounts) +
                          " accounts: at most half of them may create accounts up front");
}

/// Makes blocks of a stream of operations: numbers from 1, a block every three seconds, about so
/// many transactions each, mostly of one operation. Ends after a number of operations.
class block_builder {
public:
    static constexpr std::int64_t seconds_per_block = 3;
    static constexpr std::int64_t genesis = 1'735'689'600; ///< Unix seconds
    static constexpr std::uint64_t accounts_per_block = 1000;

    block_builder(std::uint64_t operations, std::uint32_t accounts,
                  std::uint32_t transactions_per_block)
        : operations_left_(operations), accounts_left_(accounts),
          transactions_per_block_(transactions_per_block) {}

    /// Number of the block being made.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] std::int64_t timestamp() const noexcept {
        return genesis + static_cast<std::int64_t>(number_) * seconds_per_block;
    }

    /// The next block; nothing when no operations are left. `create_account()` and `operation()`
    /// return the next operation.
    template <typename CreateAccount, typename Operation>
    std::optional<block> next(random_numbers& random, CreateAccount&& create_account,
                              Operation&& operation) {
        if (operations_left_ == 0) return {};
        ++number_;
        block result{number_, timestamp(), {}};
        if (accounts_left_ > 0) {
            result.transactions.resize(std::min(accounts_left_, accounts_per_block));
            for (transaction& one : result.transactions)
                one.operations.push_back(encoded(create_account()));
            accounts_left_ -= result.transactions.size();
            operations_left_ -= result.transactions.size();
            return result;
        }
        const std::uint64_t half = transactions_per_block_ / 2;
        std::uint64_t left =
            random.between(transactions_per_block_ - half, transactions_per_block_ + half);
        result.transactions.reserve(left);
        for (; left > 0 && operations_left_ > 0; --left)
            result.transactions.push_back(next_transaction(random, operation));
        return result;
    }

private:
    template <typename Operation>
    transaction next_transaction(random_numbers& random, Operation& operation) {
        std::uint64_t size = random.chance(1, 20) ? random.between(2, 4) : 1;
        size = std::min(size, operations_left_);
        transaction result;
        result.operations.reserve(size);
        for (operations_left_ -= size; size > 0; --size)
            result.operations.push_back(encoded(operation()));
        return result;
    }

    /// Same bytes as the chain's encode(), with one allocation instead of one for each doubling.
    template <typename Operation>
    static bytes encoded(const Operation& one) {
        bytes result;
        result.reserve(192);
        byte_writer writer(result);
        codec::write(writer, one);
        return result;
    }

    std::uint64_t operations_left_;
    std::uint64_t accounts_left_;
    std::uint64_t transactions_per_block_;
    std::uint64_t number_ = 0;
};

constexpr std::int64_t first_balance = 1'000'000'000;
constexpr std::uint64_t largest_payment = 1'000'000;

/// Accounts with money, then payments among them: payer and payee are drawn by activity, uniformly
/// at skew 0. Nobody overspends.
class payment_blocks final : public block_source {
public:
    explicit payment_blocks(const chain_options& options)
        : random_(options.seed),
          builder_(options.operations, options.accounts, options.transactions_per_block),
          active_(options.accounts, steem_2016_fit().voter_per_100_000,
                  steem_2016_fit().of(distribution::votes_of_voter).points, options.skew_milli) {}

    [[nodiscard]] std::optional<block> next() override {
        return builder_.next(random_, [&] { return create_account(); }, [&] { return pay(); });
    }

private:
    [[nodiscard]] payments::operation create_account() {
        names_.push_back(name_of_account(static_cast<std::uint32_t>(names_.size())));
        balances_.push_back(first_balance);
        return payments::account_create{names_.back(), first_balance};
    }
    [[nodiscard]] payments::operation pay() {
        const auto accounts = static_cast<std::uint32_t>(names_.size());
        std::uint32_t from = active_.draw(random_);
        while (balances_[from] == 0) // ends: some account has money
            from = (from + 1) % accounts;
        std::uint32_t to = active_.draw(random_);
        if (to == from) to = (to + 1) % accounts;
        const auto wanted = static_cast<std::int64_t>(random_.between(1, largest_payment));
        const std::int64_t amount = std::min(wanted, balances_[from]);
        balances_[from] -= amount;
        balances_[to] += amount;
        return payments::payment{names_[from], names_[to], amount};
    }

    random_numbers random_;
    block_builder builder_;
    activity active_;
    std::vector<payments::account_name> names_;
    std::vector<std::int64_t> balances_;
};

using kind = operation_mix::kind;

constexpr std::uint64_t whole_factor = 1 << 16; // fixed point of a factor
constexpr std::uint64_t blocks_per_day = 24 * 60 * 60 / block_builder::seconds_per_block;
constexpr int tries = 4;
constexpr std::size_t max_deposited = 1 << 16;

/// The average per comment, in thousandths.
std::uint64_t mean_of(distribution of_posts) {
    const auto of_replies = of_kind(of_posts, true);
    const auto post = static_cast<std::uint64_t>(steem_2016_fit().of(of_posts).real.mean_milli);
    const auto reply = static_cast<std::uint64_t>(steem_2016_fit().of(of_replies).real.mean_milli);
    return (post * (1000 - steem_2016_fit().reply_permille) +
            reply * steem_2016_fit().reply_permille) /
           1000;
}

/// A product of three random fractions of `span`: mostly near 0, a quarter of it on average.
std::uint64_t early(std::uint64_t place, std::uint64_t span) {
    const uint128 p = place >> 32;
    return static_cast<std::uint64_t>((p * p * p >> 64) * span >> 32);
}

/// A social chain like the real one (steem_2016.fit), with the operations of a mix.
///
/// Invariants: (1) a voter did not vote on that comment before, and it is not paid in the vote's
/// block or before; (2) a payer's money comes from deposits and transfers alone, so rewards may
/// come at any time; (3) an operation depends on earlier ones only: if the rules allow it here they
/// also allow it in an earlier block, in the same order (branch_generator.hpp relies on it).
class social_blocks final : public block_source {
public:
    explicit social_blocks(const chain_options& options)
        : options_(options), random_(options.seed),
          builder_(options.operations, options.accounts, options.transactions_per_block),
          authors_(options.accounts, steem_2016_fit().author_per_100_000,
                   steem_2016_fit().of(distribution::comments_of_author).points,
                   options.skew_milli),
          voters_(options.accounts, steem_2016_fit().voter_per_100_000,
                  steem_2016_fit().of(distribution::votes_of_voter).points, options.skew_milli) {
        const std::uint64_t per_block = options.transactions_per_block;
        const std::uint64_t all = options.mix.sum();
        const std::uint64_t comments = options.mix.weights[kind::comment];
        const std::uint64_t votes = options.mix.weights[kind::vote];
        const std::uint64_t replies = comments * steem_2016_fit().reply_permille / 1000;
        follow_up_blocks_ =
            std::clamp<std::uint64_t>(options.operations / per_block / 8, 1, blocks_per_day);
        const auto target = [&](std::uint64_t weight) { // the mean delay is a quarter of the time
            return std::min<std::uint64_t>(per_block * weight * follow_up_blocks_ / all / 4,
                                           open_comments::max_awaited / 2);
        };
        if (comments == 0) return;
        votes_ = {votes * 1000 * whole_factor / comments / mean_of(distribution::post_votes),
                  target(votes)};
        const fitted_distribution& descendants =
            steem_2016_fit().of(distribution::post_descendants);
        replies_ = {std::uint64_t{steem_2016_fit().reply_permille} * 1000 * whole_factor /
                        (1000 - steem_2016_fit().reply_permille) /
                        static_cast<std::uint64_t>(descendants.real.mean_milli),
                    target(replies)};
        const std::int64_t deepest = steem_2016_fit().of(distribution::reply_depth).real.most;
        replies_owed_.resize(static_cast<std::size_t>(deepest) + 1);
    }

    [[nodiscard]] std::optional<block> next() override {
        return builder_.next(
            random_, [&] { return create_account(); }, [&] { return next_operation(); });
    }

private:
    /// Draws one kind of follow-up to comments, as often as the mix and the data require.
    struct follow_up {
        std::uint64_t per_comment = 0; ///< per comment or post in the data, in units of 2^-16
        std::uint64_t target = 0;      ///< desired number due at a time
    };

    [[nodiscard]] social::operation next_operation() {
        switch (options_.mix.draw(random_)) {
        case kind::account_create:
            return account_count() < max_accounts ? create_account() : custom();
        case kind::comment:
            return new_comment();
        case kind::vote:
            return vote();
        case kind::deposit:
            return deposit(draw_account(voters_));
        case kind::transfer:
            return transfer();
        case kind::claim:
            return social::claim{names_[draw_account(voters_)]};
        case kind::comment_delete:
            return delete_comment();
        default:
            return custom();
        }
    }
    [[nodiscard]] social::operation create_account() {
        names_.push_back(name_of_account(account_count()));
        balances_.push_back(0);
        return social::account_create{names_.back()};
    }
    [[nodiscard]] social::operation new_comment() {
        const bool answers = random_.chance(steem_2016_fit().reply_permille, 1000);
        const auto post = answers ? open_.take(open_comments::awaited::reply) : std::nullopt;
        const bool is_reply = post.has_value();
        const open_comments::slot thread = post.value_or(0);
        const auto draw_own = [&](distribution of_posts) {
            return draw(of_kind(of_posts, is_reply));
        };
        const bool is_again = !deleted_.empty() && random_.chance(1, 2);
        const std::uint32_t author = is_again ? deleted_.back().author : draw_account(authors_);
        const std::uint64_t place = random_.next();
        social::comment op;
        op.author = names_[author];
        op.permlink =
            permlink(++comments_made_, draw_own(distribution::post_permlink_bytes), random_);
        if (is_again) {
            op.permlink = deleted_.back().permlink;
            deleted_.pop_back();
        }
        std::uint32_t depth = 0;
        if (is_reply) {
            const open_comment& parent = open_[draw_parent(thread)];
            op.parent_author = names_[parent.author];
            op.parent_permlink = parent.permlink;
            depth = parent.depth + 1;
        } else {
            op.parent_permlink = "category-" + std::to_string(random_.below(64));
        }
        op.title_bytes = static_cast<std::uint32_t>(draw_own(distribution::post_title_bytes));
        op.body_bytes = static_cast<std::uint32_t>(draw_own(distribution::post_body_bytes));
        draw_payout(op, is_reply, place);

        open_comment made{.author = author,
                          .permlink = op.permlink,
                          .cashout_time = op.cashout_time,
                          .depth = depth};
        const auto at =
            is_reply ? open_.add_reply(thread, std::move(made)) : open_.add(std::move(made));
        await(open_comments::awaited::vote, votes_, at, of_kind(distribution::post_votes, is_reply),
              place);
        if (!is_reply)
            await(open_comments::awaited::reply, replies_, at, distribution::post_descendants,
                  place_near(place));
        op.children = open_[at].replies_awaited;
        const bool stays_alone = open_[at].awaited == 0;
        if (stays_alone && op.cashout_time != 0 && options_.mix.weights[kind::comment_delete] != 0)
            deletable_.add({author, op.permlink}, op.cashout_time);
        open_.forget_if_done(at);
        return op;
    }
    [[nodiscard]] social::operation vote() {
        const auto at = take_votable();
        if (!at) return new_comment();
        open_comment& on = open_[*at];
        social::vote op;
        op.voter = names_[draw_voter(on)];
        op.author = names_[on.author];
        op.permlink = on.permlink;
        op.percent = static_cast<std::int16_t>(draw(distribution::vote_percent));
        op.rshares = draw(distribution::vote_rshares);
        open_.came(*at);
        return op;
    }
    /// Makes a post instead when no comment can be deleted.
    [[nodiscard]] social::operation delete_comment() {
        auto one = deletable_.take(builder_.timestamp(), random_);
        if (!one) return new_comment();
        const social::comment_delete op{names_[one->author], one->permlink};
        deleted_.push_back(*std::move(one));
        return op;
    }
    [[nodiscard]] social::operation custom() {
        const std::uint32_t who = draw_account(voters_);
        custom_content content = generate::custom(random_);
        return social::custom{names_[who], std::move(content.id), std::move(content.payload)};
    }
    [[nodiscard]] social::operation deposit(std::uint32_t to) {
        const auto amount = static_cast<std::int64_t>(random_.between(1'000, 1'000'000));
        if (deposited_.size() < max_deposited)
            deposited_.push_back(to);
        else
            deposited_[random_.below(max_deposited)] = to;
        balances_[to] += amount;
        return social::deposit{names_[to], amount};
    }
    [[nodiscard]] social::operation transfer() {
        const auto from = draw_payer();
        if (!from) return deposit(draw_account(voters_));
        std::uint32_t to = draw_account(voters_);
        if (to == *from) to = (to + 1) % account_count();
        const std::uint64_t digits =
            random_.between(4, 17); // small payments are as frequent as large ones
        const std::uint64_t wanted = 1 + (random_.next() >> (64 - digits));
        const std::int64_t amount = std::min(static_cast<std::int64_t>(wanted), balances_[*from]);
        balances_[*from] -= amount;
        balances_[to] += amount;
        return social::transfer{names_[*from], names_[to], amount, memo(random_)};
    }

    [[nodiscard]] std::uint32_t draw_account(const activity& from) {
        return from.draw(random_, account_count() - options_.accounts);
    }
    [[nodiscard]] std::uint32_t draw_voter(open_comment& on) {
        const auto voted = [&](std::uint32_t who) {
            return std::ranges::count(on.voters, who) > 0;
        };
        std::uint32_t who = draw_account(voters_);
        for (int left = tries; left > 0 && voted(who); --left)
            who = draw_account(voters_);
        while (voted(who)) // ends: at most half of the accounts have voted
            who = (who + 1) % account_count();
        on.voters.push_back(who);
        return who;
    }
    /// An account with money: active ones first, then any with a deposit.
    [[nodiscard]] std::optional<std::uint32_t> draw_payer() {
        for (int left = tries; left > 0; --left)
            if (const std::uint32_t who = draw_account(voters_); balances_[who] > 0) return who;
        for (int left = tries; left > 0 && !deposited_.empty(); --left)
            if (const std::uint32_t who = deposited_[random_.below(deposited_.size())];
                balances_[who] > 0)
                return who;
        return {};
    }
    /// The comment with the vote due first. Without one a post replaces the vote.
    [[nodiscard]] std::optional<open_comments::slot> take_votable() {
        while (const auto at = open_.take(open_comments::awaited::vote)) {
            const std::int64_t cashout = open_[*at].cashout_time;
            if (cashout == 0 || cashout > builder_.timestamp()) return at;
            open_.came(*at);
        }
        return {};
    }
    [[nodiscard]] std::int64_t draw(distribution which) {
        return value_at(steem_2016_fit().of(which).points, random_.next());
    }
    void draw_payout(social::comment& to, bool is_reply, std::uint64_t place) {
        const std::uint32_t in_data =
            is_reply ? steem_2016_fit().paid_reply_permille : steem_2016_fit().paid_post_permille;
        const std::uint32_t paid = options_.paid_percent ? *options_.paid_percent * 10 : in_data;
        if (!random_.chance(paid, 1000)) return;
        const std::int64_t seconds = draw(of_kind(distribution::post_cash_out_seconds, is_reply)) *
                                     options_.cash_out_percent / 100;
        to.cashout_time = builder_.timestamp() + std::max<std::int64_t>(seconds, 1);
        const auto part = [&](distribution which) {
            return value_at(steem_2016_fit().of(of_kind(which, is_reply)).points,
                            place_near(place));
        };
        to.author_payout = part(distribution::post_author_payout);
        to.curator_payout = part(distribution::post_curator_payout);
    }
    /// The post or one of its replies. A thread may be too shallow for the depth drawn from the
    /// data; that reply is then owed, and the most owed depth that the thread allows comes.
    [[nodiscard]] open_comments::slot draw_parent(open_comments::slot post) {
        ++replies_owed_[static_cast<std::size_t>(draw(distribution::reply_depth))];
        std::vector<std::vector<open_comments::slot>> parents(replies_owed_.size());
        parents[1] = {post};
        for (const open_comments::slot reply : open_[post].thread)
            if (const std::size_t below = open_[reply].depth + 1; below < parents.size())
                parents[below].push_back(reply);
        std::size_t depth = 1;
        for (std::size_t deeper = 2; deeper < parents.size() && !parents[deeper].empty(); ++deeper)
            if (replies_owed_[deeper] > replies_owed_[depth]) depth = deeper;
        --replies_owed_[depth];
        return parents[depth][random_.below(parents[depth].size())];
    }
    /// As many as the data has at `place`, scaled to the mix; slightly more while few are due,
    /// slightly less while many are.
    void await(open_comments::awaited what, const follow_up& how, open_comments::slot at,
               distribution which, std::uint64_t place) {
        const bool is_few = open_.waiting(what) < how.target;
        const std::uint64_t factor = how.per_comment * (is_few ? 11 : 9) / 10;
        const auto value =
            static_cast<std::uint64_t>(value_at(steem_2016_fit().of(which).points, place));
        std::uint64_t count = (value * factor + random_.below(whole_factor)) / whole_factor;
        count = std::min<std::uint64_t>(count, options_.accounts / 2);
        count = std::min<std::uint64_t>(count, open_comments::max_awaited - open_.waiting(what));
        const std::int64_t cashout = open_[at].cashout_time;
        std::uint64_t span = follow_up_blocks_;
        if (cashout != 0) {
            const std::int64_t life =
                (cashout - builder_.timestamp()) / block_builder::seconds_per_block;
            span = std::min(span, static_cast<std::uint64_t>(life));
        }
        for (; count > 0; --count)
            open_.await(what, at, builder_.number() + early(random_.next(), span));
    }
    /// Correlates distributions: in three of four cases a comment has the same place in each, since
    /// comments with many votes are also paid and answered much.
    [[nodiscard]] std::uint64_t place_near(std::uint64_t place) {
        return random_.chance(3, 4) ? place : random_.next();
    }
    [[nodiscard]] std::uint32_t account_count() const noexcept {
        return static_cast<std::uint32_t>(names_.size());
    }

    chain_options options_;
    random_numbers random_;
    block_builder builder_;
    activity authors_;
    activity voters_;
    follow_up votes_;
    follow_up replies_;
    std::vector<std::int64_t> replies_owed_; ///< by depth: drawn from the data, less those made
    std::uint64_t follow_up_blocks_;         ///< blocks within which votes and replies come
    std::uint64_t comments_made_ = 0;
    open_comments open_;
    deletable_comments deletable_;                     ///< if the mix has deletions
    std::vector<deletable_comments::comment> deleted_; ///< permlinks not yet used again
    std::vector<social::account_name> names_;
    std::vector<std::int64_t> balances_;   ///< lower bounds of what an account can spend
    std::vector<std::uint32_t> deposited_; ///< some of the accounts that got a deposit
};

} // namespace

std::uint32_t default_accounts(std::uint64_t operations) noexcept {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(operations / 50, fewest_accounts, max_default_accounts));
}

std::unique_ptr<block_source> make_block_source(const chain_options& options) {
    chain_options complete = options;
    if (complete.accounts == 0) complete.accounts = default_accounts(complete.operations);
    require_valid(complete);
    if (complete.chain == social::generated_chain_name)
        return std::make_unique<social_blocks>(complete);
    if (complete.chain == payments::chain_name) return std::make_unique<payment_blocks>(complete);
    throw usage_error("the chain \"" + complete.chain + "\" cannot be generated, only " +
                      std::string(social::generated_chain_name) + " and " +
                      std::string(payments::chain_name));
}

} // namespace chainbase::generate
