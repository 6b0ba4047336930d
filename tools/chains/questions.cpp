#include <chainbase/snapshot/snapshot.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/payments/objects.hpp>
#include <tools/chains/social/objects.hpp>
#include <tools/chains/swap/objects.hpp>

namespace chainbase {

/// An account by name, or how many of ten neighbours have money.
std::uint64_t payments::answer(const snapshot& from, std::uint64_t question) {
    const std::uint32_t accounts = from.next_id<account_object>().value;
    if (accounts == 0) return 0;
    const auto number = static_cast<std::uint32_t>(question / 4 % accounts);
    if (question % 4 != 0) {
        const auto& one = from.get(id<account_object>(number));
        return static_cast<std::uint64_t>(from.get<account_object, by_name>(one.name).balance);
    }
    std::uint64_t with_money = 0;
    for (std::uint32_t at = number; at < accounts && at < number + 10; ++at)
        with_money += from.get(id<account_object>(at)).balance > 0 ? 1 : 0;
    return with_money;
}

/// A pair's reserves by number, or an owner's totals by name.
std::uint64_t swap::answer(const snapshot& from, std::uint64_t question) {
    const std::uint64_t which = question / 2;
    const std::uint32_t pairs = from.next_id<pair_object>().value;
    const std::uint32_t owners = from.next_id<owner_object>().value;
    if (pairs == 0 || owners == 0) return 0;
    if (question % 2 == 0) {
        const id<pair_object> one(static_cast<std::uint32_t>(which % pairs));
        const auto& pair = from.get<pair_object, by_pair_id>(from.get(one).pair_id);
        return static_cast<std::uint64_t>(pair.reserve0) ^
               static_cast<std::uint64_t>(pair.reserve1);
    }
    const id<owner_object> one(static_cast<std::uint32_t>(which % owners));
    return from.get<owner_object, by_name>(from.get(one).name).swaps;
}

namespace {

using namespace social;

std::uint64_t about_account(const snapshot& from, std::uint32_t number) {
    const std::uint32_t accounts = from.next_id<account_object>().value;
    if (accounts == 0) return 0;
    const auto& by_number = from.get(id<account_object>(number % accounts));
    const auto& one = from.get<account_object, by_name>(by_number.name);
    return static_cast<std::uint64_t>(one.balance) + one.posts + one.votes;
}

/// With its votes; nothing about one that has moved to the archive.
std::uint64_t about_comment(const snapshot& from, std::uint32_t number) {
    const std::uint32_t comments = from.next_id<comment_object>().value;
    if (comments == 0) return 0;
    const auto* const by_number = from.find(id<comment_object>(number % comments));
    if (!by_number) return 0;
    const auto& one = from.get<comment_object, by_permlink>(by_number->author, by_number->permlink);
    std::uint64_t sum = one.body_bytes;
    for (const vote_object& vote : from.view<vote_object, by_comment_voter>().equal_range(one.id))
        sum += static_cast<std::uint64_t>(vote.rshares) ^ vote.voter.value;
    return sum;
}

/// A page of twenty cash-outs, starting at a time.
std::uint64_t next_cashouts(const snapshot& from, std::uint32_t number) {
    const auto waiting = from.view<comment_object, by_cashout_time>();
    const auto* const all = from.find(id<global_object>(0));
    if (!all) return 0;
    const std::int64_t begin = all->head_time + 1 + number % (7 * 24 * 3600);
    std::uint64_t sum = 0;
    int left = 20;
    for (auto at = waiting.lower_bound(begin); at != waiting.end() && left > 0; ++at, --left)
        sum += at->votes + at->children;
    return sum;
}

} // namespace

/// Of ten queries, six look up an account by name, three a comment by permlink with its votes,
/// one the next cash-outs.
std::uint64_t social::answer(const snapshot& from, std::uint64_t question) {
    const auto about = static_cast<std::uint32_t>(question / 10);
    const std::uint64_t kind = question % 10;
    if (kind < 6) return about_account(from, about);
    return kind < 9 ? about_comment(from, about) : next_cashouts(from, about);
}

} // namespace chainbase
