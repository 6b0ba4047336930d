#include <pool_allocator/base/error.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/import/csv_table.hpp>
#include <tools/driver/import/import.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace chainbase::steem_tables {

struct post {
    std::int64_t created = 0; // Unix seconds
    social::comment operation;
    std::uint32_t votes_without_time = 0;
};

struct vote {
    std::size_t post = 0;             // index in tables::posts
    std::optional<std::int64_t> time; // Unix seconds
    social::vote operation;
};

/// The three tables of steem-2016, in the order of their rows.
struct tables {
    std::vector<post> posts;
    std::vector<vote> votes;
    std::vector<std::string>
        accounts; // including authors and voters missing in the table; sorted, unique
};

/// Reads and checks the tables: every vote's post exists, posts are unique, a post is paid after
/// its creation. Throws what csv_table throws.
[[nodiscard]] tables read(const std::filesystem::path& folder);

namespace {

namespace post_column {
enum : std::size_t {
    created,
    author,
    permlink,
    parent_author,
    parent_permlink,
    last_payout,
    total_payout,
    curator_payout,
    net_rshares,
    children,
    title_bytes,
    body_bytes,
};
} // namespace post_column

namespace vote_column {
enum : std::size_t { voter, author, permlink, time, percent, rshares };
} // namespace vote_column

const std::vector<std::string_view> post_columns{
    "created",         "author",      "permlink",     "parent_author",
    "parent_permlink", "last_payout", "total_payout", "curator_payout",
    "net_rshares",     "children",    "title_bytes",  "body_bytes",
};
const std::vector<std::string_view> vote_columns{
    "voter", "author", "permlink", "time", "percent", "rshares",
};

/// Index of a post by author and permlink; neither may contain the separator.
using post_places = std::unordered_map<std::string, std::size_t>;

std::string post_key(std::string_view author, std::string_view permlink) {
    return std::string(author) + "," + std::string(permlink);
}

social::account_name read_name(const csv_table& row, std::size_t column) {
    return row.name<social::account_name::capacity>(column);
}

std::string read_permlink(const csv_table& row, std::size_t column) {
    if (row.text(column).size() > social::longest_permlink)
        row.fail(column, "is longer than " + std::to_string(social::longest_permlink) + " bytes");
    return std::string(row.text(column));
}

std::uint32_t read_count(const csv_table& row, std::size_t column) {
    return static_cast<std::uint32_t>(row.number(column, 0, UINT32_MAX));
}

/// Reads the payout, if any; ignores amounts without a time.
void read_payout(const csv_table& row, post& to) {
    const std::int64_t authors = row.thousandths(post_column::total_payout);
    const std::int64_t curators = row.thousandths(post_column::curator_payout);
    if (row.is_empty(post_column::last_payout)) return;
    to.operation.cashout_time = row.time(post_column::last_payout);
    if (to.operation.cashout_time <= to.created)
        row.fail(post_column::last_payout, "is not after the post was created");
    to.operation.author_payout = authors;
    to.operation.curator_payout = curators;
}

post read_post(const csv_table& row) {
    post result;
    result.created = row.time(post_column::created);
    social::comment& to = result.operation;
    to.author = read_name(row, post_column::author);
    to.permlink = read_permlink(row, post_column::permlink);
    if (!row.is_empty(post_column::parent_author))
        to.parent_author = read_name(row, post_column::parent_author);
    to.parent_permlink = read_permlink(row, post_column::parent_permlink);
    to.title_bytes = read_count(row, post_column::title_bytes);
    to.body_bytes = read_count(row, post_column::body_bytes);
    to.net_rshares = row.number(post_column::net_rshares);
    to.children = read_count(row, post_column::children);
    read_payout(row, result);
    return result;
}

std::vector<post> read_posts(const std::filesystem::path& path, post_places& places) {
    std::vector<post> result;
    csv_table row(path, post_columns);
    while (row.next()) {
        result.push_back(read_post(row));
        const std::string key =
            post_key(row.text(post_column::author), row.text(post_column::permlink));
        if (!places.emplace(key, result.size() - 1).second)
            row.fail(post_column::permlink, "occurs twice for this author");
    }
    return result;
}

/// Values beyond 100 % mean something else in the source; they count as empty.
std::int16_t read_percent(const csv_table& row) {
    if (row.is_empty(vote_column::percent)) return 0;
    const std::int64_t value = row.number(vote_column::percent);
    if (value < -social::full_percent || value > social::full_percent) return 0;
    return static_cast<std::int16_t>(value);
}

vote read_vote(const csv_table& row, const post_places& places) {
    const auto place =
        places.find(post_key(row.text(vote_column::author), row.text(vote_column::permlink)));
    if (place == places.end()) row.fail(vote_column::permlink, "is not a post of this author");
    vote result;
    result.post = place->second;
    if (!row.is_empty(vote_column::time)) result.time = row.time(vote_column::time);
    result.operation.voter = read_name(row, vote_column::voter);
    result.operation.author = read_name(row, vote_column::author);
    result.operation.permlink = read_permlink(row, vote_column::permlink);
    result.operation.percent = read_percent(row);
    if (!row.is_empty(vote_column::rshares))
        result.operation.rshares = row.number(vote_column::rshares);
    return result;
}

std::vector<vote> read_votes(const std::filesystem::path& path, const post_places& places,
                             std::vector<post>& posts) {
    std::vector<vote> result;
    csv_table row(path, vote_columns);
    while (row.next()) {
        result.push_back(read_vote(row, places));
        if (!result.back().time) ++posts[result.back().post].votes_without_time;
    }
    return result;
}

std::vector<std::string> read_accounts(const std::filesystem::path& path) {
    std::vector<std::string> result;
    zstd_lines lines(path);
    while (const auto line = lines.next()) {
        if (line->empty() || line->size() > social::account_name::capacity)
            throw format_error(path.string() + ": line " + std::to_string(lines.line()) + ": \"" +
                               std::string(*line) + "\" is not a name");
        result.emplace_back(*line);
    }
    return result;
}

void sort_unique(std::vector<std::string>& names) {
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
}

} // namespace

tables read(const std::filesystem::path& folder) {
    tables result;
    post_places places;
    result.accounts = read_accounts(folder / "accounts.txt.zst");
    result.posts = read_posts(folder / "posts.csv.zst", places);
    result.votes = read_votes(folder / "votes.csv.zst", places, result.posts);
    for (const post& one : result.posts)
        result.accounts.emplace_back(one.operation.author.view());
    for (const vote& one : result.votes)
        result.accounts.emplace_back(one.operation.voter.view());
    sort_unique(result.accounts);
    return result;
}

} // namespace chainbase::steem_tables

/// The rules of tools/chains/social/README.md, in its order and numbering.
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

/// An event in a slot, ordered by rule 5.
struct event {
    enum class kind : std::uint8_t { post, vote };

    std::int64_t slot;
    kind what;
    std::size_t row;

    friend auto operator<=>(const event&, const event&) = default;
};

/// Rule 3: the time of the k-th of n votes without a time.
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
    // fails before minutes go into reading tables
    unfinished_log log(block_log, social::chain_name);
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
