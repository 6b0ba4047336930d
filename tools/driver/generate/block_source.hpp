#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/block.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/activity.hpp>
#include <tools/driver/generate/mix.hpp>
#include <tools/driver/generate/open_comments.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::generate {

/// What a generated chain is to be like.
struct chain_options {
    std::string chain = "social"; ///< or "payments"
    std::uint64_t operations = 0; ///< in all, those that create the first accounts included
    std::uint64_t seed = 1;
    std::uint32_t accounts = 0; ///< created up front; 0: a fiftieth of the operations
    std::uint32_t transactions_per_block = 50; ///< on average
    std::uint32_t skew_milli = 1000;      ///< how unevenly accounts are active; 0: all the same
    operation_mix mix;                    ///< of the social chain
    std::uint32_t cash_out_percent = 100; ///< of the time that the data has until a cash-out
    std::optional<std::uint32_t> paid_percent; ///< of the comments; nothing: as the data has it
};

/// The accounts that options come to when they name none.
[[nodiscard]] std::uint32_t usual_accounts(std::uint64_t operations) noexcept;

/// Gives the blocks of a chain one after the other; the same for the same options, with every
/// compiler. Not thread-safe.
class block_source {
public:
    block_source() = default;
    block_source(const block_source&) = delete;
    block_source& operator=(const block_source&) = delete;
    virtual ~block_source() = default;

    /// The next block, valid by the chain's rules behind those before it; nothing behind the last.
    [[nodiscard]] virtual std::optional<block> next() = 0;
};

/// Throws usage_error for a chain that cannot be generated, and for numbers that do not fit
/// together.
[[nodiscard]] std::unique_ptr<block_source> make_block_source(const chain_options& options);

/// Makes blocks of a stream of operations: numbers from 1 on, a block every three seconds, about so
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

    /// Of the block being made.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] std::int64_t timestamp() const noexcept {
        return genesis + static_cast<std::int64_t>(number_) * seconds_per_block;
    }

    /// The next block; nothing when there are no operations left. `create_account()` and
    /// `operation()` each give the operation that comes next.
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

    /// What the chain's encode() gives, with one allocation where that takes one for each doubling.
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

/// Accounts with money, then payments among them: who pays and who is paid is drawn by activity,
/// the same for all at skew 0. Nobody pays what he does not have.
class payment_blocks final : public block_source {
public:
    explicit payment_blocks(const chain_options& options);

    [[nodiscard]] std::optional<block> next() override;

private:
    [[nodiscard]] payments::operation create_account();
    [[nodiscard]] payments::operation pay();

    random_numbers random_;
    block_builder builder_;
    activity active_;
    std::vector<payments::account_name> names_;
    std::vector<std::int64_t> balances_;
};

/// A social chain like the real one (steem_2016.fit), with operations as a mix says.
///
/// Invariants: (1) who votes did not vote on that comment before, and it is not paid in the vote's
/// block or before; (2) a payer has the money from deposits and transfers alone, so rewards may
/// come at any time; (3) an operation needs nothing but those before it: what the rules allow here
/// they also allow in an earlier block, in the same order (make_branch.hpp relies on it).
class social_blocks final : public block_source {
public:
    explicit social_blocks(const chain_options& options);

    [[nodiscard]] std::optional<block> next() override;

private:
    /// Draws of one kind of what comes to comments, as often as the mix and the data ask for.
    struct follow_up {
        std::uint64_t per_comment = 0; ///< or per post, of what the data has, in 2^-16
        std::uint64_t target = 0;      ///< how much is best awaited at a time
    };

    [[nodiscard]] social::operation next_operation();
    [[nodiscard]] social::operation create_account();
    [[nodiscard]] social::operation new_comment();
    [[nodiscard]] social::operation vote();
    [[nodiscard]] social::operation delete_comment();
    [[nodiscard]] social::operation custom();
    [[nodiscard]] social::operation deposit(std::uint32_t to);
    [[nodiscard]] social::operation transfer();

    [[nodiscard]] std::uint32_t draw_account(const activity& from);
    [[nodiscard]] std::uint32_t draw_voter(open_comment& on);
    [[nodiscard]] std::optional<std::uint32_t> draw_payer();
    [[nodiscard]] std::optional<open_comments::slot> take_votable();
    [[nodiscard]] std::int64_t draw(distribution which);
    void draw_payout(social::comment& to, bool is_reply, std::uint64_t place);
    [[nodiscard]] open_comments::slot draw_parent(open_comments::slot post);
    void await(open_comments::awaited what, const follow_up& how, open_comments::slot at,
               distribution which, std::uint64_t place);
    [[nodiscard]] std::uint64_t place_near(std::uint64_t place);
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
    std::uint64_t follow_up_blocks_;         ///< within which votes and replies come
    std::uint64_t comments_made_ = 0;
    open_comments open_;
    deletable_comments deletable_;                     ///< if the mix has deletions
    std::vector<deletable_comments::comment> deleted_; ///< whose permlinks nobody took again
    std::vector<social::account_name> names_;
    std::vector<std::int64_t> balances_;   ///< at least what an account can spend
    std::vector<std::uint32_t> deposited_; ///< some of the accounts that got a deposit
};

} // namespace chainbase::generate
