#include <pool_allocator/error.hpp>
#include <tools/driver/import/import.hpp>
#include <tools/driver/import/steem_2016_tables.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <algorithm>
#include <compare>

/// The rules that tools/chains/social/README.md declares, in its order and under its numbers.
namespace chainbase {
namespace {

using steem_tables::post;
using steem_tables::tables;

constexpr std::int64_t slot_seconds = 3;
constexpr std::size_t accounts_per_block = 1000;
constexpr std::int64_t longest_vote_span = 24 * 60 * 60;

/// The last block time at or before `time` (Unix seconds, not negative).
std::int64_t slot_of(std::int64_t time) {
    return time - time % slot_seconds;
}

/// Something that happens in a slot. Orders as rule 5 says.
struct event {
    enum class kind : std::uint8_t { post, vote };

    std::int64_t slot;
    kind what;
    std::size_t row;

    friend auto operator<=>(const event&, const event&) = default;
};

/// Rule 3: where the k-th of n votes without a time lies.
std::int64_t declared_time(const post& on, std::uint32_t k) {
    const std::int64_t cashout = on.operation.cashout_time;
    const std::int64_t open = cashout == 0 ? longest_vote_span : cashout - on.created;
    const std::int64_t span = std::min(open, longest_vote_span);
    return on.created + (k + 1) * span / (on.votes_without_time + 1);
}

/// Rule 4: a vote counts from its post's creation until just before its cash-out.
std::int64_t within_life(const post& on, std::int64_t time) {
    const std::int64_t cashout = on.operation.cashout_time;
    if (cashout != 0) time = std::min(time, cashout - 1);
    return std::max(time, on.created);
}

std::vector<event> place_events(const tables& from) {
    std::vector<event> result;
    std::vector<std::uint32_t> placed(from.posts.size());
    for (std::size_t row = 0; row < from.posts.size(); ++row)
        result.push_back({slot_of(from.posts[row].created), event::kind::post, row});
    for (std::size_t row = 0; row < from.votes.size(); ++row) {
        const steem_tables::vote& one = from.votes[row];
        const post& on = from.posts[one.post];
        const std::int64_t time = one.time ? *one.time : declared_time(on, placed[one.post]++);
        result.push_back({slot_of(within_life(on, time)), event::kind::vote, row});
    }
    std::ranges::sort(result);
    return result;
}

/// The first block time at which every payout is due.
std::int64_t last_cashout_slot(const tables& from) {
    std::int64_t last = 0;
    for (const post& one : from.posts)
        last = std::max(last, one.operation.cashout_time);
    return slot_of(last + slot_seconds - 1);
}

/// Hands out block numbers and writes the blocks.
class block_sequence {
public:
    explicit block_sequence(unfinished_log& log) : log_(log) {}

    void begin(std::int64_t timestamp) {
        end();
        block_ = {summary_.blocks + 1, timestamp, {}};
        ++summary_.blocks;
    }

    void add(const social::operation& operation) {
        block_.transactions.push_back({{encode(operation)}});
        ++summary_.operations;
    }

    import_summary finish() {
        end();
        summary_.transactions = summary_.operations; // rule 6
        summary_.bytes = log_.finish();
        return summary_;
    }

    [[nodiscard]] std::int64_t timestamp() const { return block_.timestamp; }

private:
    void end() {
        if (summary_.blocks > 0) log_.append(block_);
    }

    unfinished_log& log_;
    block block_;
    import_summary summary_;
};

/// Rule 1: the accounts, in the slots just before the first event's.
void write_accounts(const tables& from, std::int64_t first_slot, block_sequence& blocks) {
    const std::size_t count = (from.accounts.size() + accounts_per_block - 1) / accounts_per_block;
    std::int64_t slot = first_slot - static_cast<std::int64_t>(count) * slot_seconds;
    for (std::size_t i = 0; i < from.accounts.size(); ++i) {
        if (i % accounts_per_block == 0) {
            blocks.begin(slot);
            slot += slot_seconds;
        }
        blocks.add(social::account_create{social::account_name(from.accounts[i])});
    }
}

void write_events(const tables& from, const std::vector<event>& events, block_sequence& blocks) {
    for (const event& one : events) {
        if (one.slot != blocks.timestamp()) blocks.begin(one.slot);
        if (one.what == event::kind::post)
            blocks.add(from.posts[one.row].operation);
        else
            blocks.add(from.votes[one.row].operation);
    }
}

} // namespace

import_summary import_steem_2016(const std::filesystem::path& from_folder,
                                 const std::filesystem::path& block_log) {
    unfinished_log log(block_log, social::chain_name); // before minutes go into reading tables
    const tables from = steem_tables::read(from_folder);
    if (from.posts.empty())
        throw format_error((from_folder / "posts.csv.zst").string() + ": holds no post");
    const std::vector<event> events = place_events(from);
    block_sequence blocks(log);
    write_accounts(from, events.front().slot, blocks);
    write_events(from, events, blocks);
    const std::int64_t all_paid = last_cashout_slot(from); // rule 7
    if (blocks.timestamp() < all_paid) blocks.begin(all_paid);
    return blocks.finish();
}

} // namespace chainbase
