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

/// A comment that votes or replies are still to come to.
struct open_comment {
    std::uint32_t author = 0; ///< the number of an account
    std::string permlink;
    std::int64_t cashout_time = 0;
    std::uint32_t depth = 0;             ///< 1 of a reply to a post
    std::uint32_t awaited = 0;           ///< votes, replies, and the end of a reply's thread
    std::uint32_t replies_awaited = 0;   ///< of a post: to it, to its replies, and so on
    std::vector<std::uint32_t> voters{}; ///< who voted already
    std::vector<std::uint32_t>
        thread{}; ///< of a post to which replies are to come: those that came
};

/// The comments that something is still to come to, and what comes when. Nothing is kept of a
/// comment to which all came and whose thread is complete, so memory is bounded by what is awaited
/// at a time.
class open_comments {
public:
    using slot = std::uint32_t;

    /// What is awaited is kept by the block in which it is due. At most so much at a time.
    static constexpr std::size_t most_awaited = 1 << 22;

    enum class awaited : std::uint8_t { vote, reply };

    /// A comment to which nothing is to come yet.
    [[nodiscard]] slot add(open_comment one);
    /// A reply to which nothing is to come yet, to a post that was taken for it or to a reply in
    /// its thread. In place of came(post).
    [[nodiscard]] slot add_reply(slot post, open_comment one);
    [[nodiscard]] open_comment& operator[](slot at) noexcept { return comments_[at]; }

    /// Replies are awaited by posts, for the whole thread.
    void await(awaited what, slot at, std::uint64_t block);
    [[nodiscard]] std::size_t waiting(awaited what) const noexcept { return queue(what).size(); }

    /// What is due first, due or not; nothing when nothing is awaited. To be followed by came().
    [[nodiscard]] std::optional<slot> take(awaited what);
    /// What was taken came, or will not; the comment goes when it was the last.
    void came(slot at);
    /// Lets a comment go at once when nothing is awaited.
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

/// Comments that can be deleted when they are paid: to which no votes and no replies come. They
/// could be before, too, so a branch may hold the same operations at another time.
class deletable_comments {
public:
    /// More are not remembered.
    static constexpr std::size_t most = 1 << 16;

    struct comment {
        std::uint32_t author = 0; ///< the number of an account
        std::string permlink;
        friend auto operator<=>(const comment&, const comment&) = default;
    };

    /// One that is paid at `cashout_time`.
    void add(comment one, std::int64_t cashout_time);
    /// One that is paid by the time `now`, if there is any: as often the one that was paid first,
    /// which a state has in its archive, as the one that was paid last.
    [[nodiscard]] std::optional<comment> take(std::int64_t now, random_numbers& random);

private:
    std::set<std::pair<std::int64_t, comment>> by_time_;
};

} // namespace chainbase::generate
