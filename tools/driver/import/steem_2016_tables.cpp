#include <pool_allocator/error.hpp>
#include <tools/driver/import/csv_table.hpp>
#include <tools/driver/import/steem_2016_tables.hpp>

#include <algorithm>
#include <unordered_map>

namespace chainbase::steem_tables {
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

/// Where a post is, by author and permlink; neither may hold the separator.
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

/// The payout, if there is one: amounts without a time belong to none that the data knows.
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
            row.fail(post_column::permlink, "is there twice for this author");
    }
    return result;
}

/// Beyond 100 % the source holds another measure, so it says as little as an empty field.
std::int16_t read_percent(const csv_table& row) {
    if (row.is_empty(vote_column::percent)) return 0;
    const std::int64_t value = row.number(vote_column::percent);
    if (value < -social::full_percent || value > social::full_percent) return 0;
    return static_cast<std::int16_t>(value);
}

vote read_vote(const csv_table& row, const post_places& places) {
    const auto place =
        places.find(post_key(row.text(vote_column::author), row.text(vote_column::permlink)));
    if (place == places.end()) row.fail(vote_column::permlink, "is no post of this author");
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
                               std::string(*line) + "\" is no name");
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
