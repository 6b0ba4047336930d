#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/activity.hpp>
#include <tools/driver/generate/block_builder.hpp>
#include <tools/driver/generate/block_source.hpp>
#include <tools/driver/generate/deletable_comments.hpp>
#include <tools/driver/generate/open_comments.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace chainbase::generate {

/// A social chain like the real one (steem_2016_fit.hpp), with operations as a mix says.
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
