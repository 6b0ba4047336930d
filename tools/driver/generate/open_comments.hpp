#pragma once

#include <tools/driver/generate/mix.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::generate {

/// A comment with votes or replies still to come.
struct open_comment {
    std::uint32_t author = 0; ///< the number of an account
    std::string permlink;
    std::int64_t cashout_time = 0;
    std::uint32_t depth = 0;             ///< 1 of a reply to a post
    std::uint32_t awaited = 0;           ///< votes, replies, and the end of a reply's thread
    std::uint32_t replies_awaited = 0;   ///< of a post: in its whole thread
    std::vector<std::uint32_t> voters{}; ///< accounts that voted already
    std::vector<std::uint32_t> thread{}; ///< of a post with replies to come: its replies so far
};

/// Comments with pending follow-ups, and when these are due. Forgets a comment once all its
/// follow-ups came and its thread is complete, so memory is bounded by the number due at a time.
class open_comments {
public:
    using slot = std::uint32_t;

    /// Follow-ups are queued by the block in which they are due. Maximum at a time.
    static constexpr std::size_t max_awaited = 1 << 22;

    enum class awaited : std::uint8_t { vote, reply };

    /// Adds a comment without follow-ups.
    [[nodiscard]] slot add(open_comment one);
    /// Adds a reply without follow-ups, to a post taken for it or to a reply in its thread.
    /// Replaces came(post).
    [[nodiscard]] slot add_reply(slot post, open_comment one);
    [[nodiscard]] open_comment& operator[](slot at) noexcept { return comments_[at]; }

    /// Queues a follow-up. Replies are queued by post, for the whole thread.
    void await(awaited what, slot at, std::uint64_t block);
    [[nodiscard]] std::size_t waiting(awaited what) const noexcept { return queue(what).size(); }

    /// Takes the follow-up with the earliest block, due or not; nothing when none is queued. Call
    /// came() next.
    [[nodiscard]] std::optional<slot> take(awaited what);
    /// The follow-up taken was made, or will not be; frees the comment after its last one.
    void came(slot at);
    /// Frees a comment without follow-ups at once.
    void forget_if_done(slot at);

private:
    /// The block in the upper half, the slot in the lower.
    using due_queue =
        std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>;
    [[nodiscard]] due_queue& queue(awaited what) noexcept {
        return what == awaited::vote ? votes_ : replies_;
    }
    [[nodiscard]] const due_queue& queue(awaited what) const noexcept {
        return what == awaited::vote ? votes_ : replies_;
    }

    std::vector<open_comment> comments_;
    std::vector<slot> free_;
    due_queue votes_;
    due_queue replies_;
};

/// Comments that may be deleted once they are paid: they get no votes and no replies. Deleting them
/// earlier would be valid, too, so a branch may hold the same operations at another time.
class deletable_comments {
public:
    /// Further ones are not remembered.
    static constexpr std::size_t most = 1 << 16;

    struct comment {
        std::uint32_t author = 0; ///< the number of an account
        std::string permlink;
        friend auto operator<=>(const comment&, const comment&) = default;
    };

    /// Adds a comment paid at `cashout_time`.
    void add(comment one, std::int64_t cashout_time);
    /// A comment paid by the time `now`, if any: equally often the one paid first, which a state
    /// has archived, and the one paid last.
    [[nodiscard]] std::optional<comment> take(std::int64_t now, random_numbers& random);

private:
    std::set<std::pair<std::int64_t, comment>> by_time_;
};

} // namespace chainbase::generate
