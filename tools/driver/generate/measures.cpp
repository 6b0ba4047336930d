#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/measures.hpp>

#include <algorithm>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>

namespace chainbase::generate {
namespace {

constexpr std::size_t none = SIZE_MAX;

struct counted_comment {
    bool is_post = false;
    std::size_t parent = none; ///< its place, which is before this one's
    std::int64_t depth = 0;    ///< 0 of a post; -1 where the post is not in the log
    std::int64_t votes = 0;
    std::int64_t descendants = 0;
};

std::string key_of(std::string_view author, std::string_view permlink) {
    std::string key(author);
    key += '/';
    key += permlink;
    return key;
}

class measurement {
public:
    /// `states_descendants`: the log says of a comment what is not counted then.
    explicit measurement(bool states_descendants) : states_descendants_(states_descendants) {}

    void add(const block& next) {
        now_ = next.timestamp;
        for (const transaction& part : next.transactions)
            for (const bytes& encoded : part.operations)
                add(social::decode_operation(encoded));
    }

    measures finish() {
        if (!states_descendants_) count_descendants();
        for (const counted_comment& one : comments_) {
            note(one.is_post, distribution::post_votes, one.votes);
            note(one.is_post, distribution::post_descendants, one.descendants);
            if (one.depth > 0) note(distribution::reply_depth, one.depth);
        }
        note_all(by_author_, distribution::comments_of_author);
        note_all(by_voter_, distribution::votes_of_voter);
        result_.authors = by_author_.size();
        result_.voters = by_voter_.size();
        for (auto& values : result_.values)
            std::ranges::sort(values);
        return std::move(result_);
    }

private:
    using counts = std::unordered_map<std::string, std::int64_t>;

    void add(const social::operation& one) {
        ++result_.operations;
        ++result_.operations_by_kind[one.index()];
        if (const auto* comment = std::get_if<social::comment>(&one)) add(*comment);
        if (const auto* vote = std::get_if<social::vote>(&one)) add(*vote);
        if (std::holds_alternative<social::account_create>(one)) ++result_.accounts;
    }

    void add(const social::comment& op) {
        const bool is_post = op.parent_author == social::account_name();
        const bool is_paid = op.cashout_time != 0;
        ++(is_post ? result_.posts : result_.replies);
        if (is_paid) ++(is_post ? result_.paid_posts : result_.paid_replies);
        ++by_author_[std::string(op.author.view())];
        note(is_post, distribution::post_title_bytes, op.title_bytes);
        note(is_post, distribution::post_body_bytes, op.body_bytes);
        note(is_post, distribution::post_permlink_bytes, std::ssize(op.permlink));
        if (is_paid) {
            note(is_post, distribution::post_cash_out_seconds, op.cashout_time - now_);
            note(is_post, distribution::post_author_payout, op.author_payout);
            note(is_post, distribution::post_curator_payout, op.curator_payout);
        }
        counted_comment one{is_post, none, is_post ? 0 : -1, 0, op.children};
        if (!is_post) find_parent(op, one);
        places_[key_of(op.author, op.permlink)] = comments_.size();
        comments_.push_back(one);
    }

    void find_parent(const social::comment& op, counted_comment& of) const {
        const auto found = places_.find(key_of(op.parent_author, op.parent_permlink));
        if (found == places_.end()) return;
        of.parent = found->second;
        const std::int64_t above = comments_[of.parent].depth;
        of.depth = above < 0 ? -1 : above + 1;
    }

    void count_descendants() {
        for (counted_comment& one : comments_)
            one.descendants = 0;
        for (const counted_comment& one : std::views::reverse(comments_))
            if (one.parent != none) comments_[one.parent].descendants += one.descendants + 1;
    }

    void add(const social::vote& op) {
        ++by_voter_[std::string(op.voter.view())];
        const auto on = places_.find(key_of(op.author, op.permlink));
        if (on != places_.end()) ++comments_[on->second].votes;
        note(distribution::vote_percent, op.percent);
        note(distribution::vote_rshares, op.rshares);
    }

    void note(distribution which, std::int64_t value) {
        result_.values[static_cast<std::size_t>(which)].push_back(value);
    }
    void note(bool is_post, distribution of_posts, std::int64_t value) {
        note(of_kind(of_posts, !is_post), value);
    }
    void note_all(const counts& from, distribution which) {
        for (const auto& [name, count] : from)
            note(which, count);
    }

    bool states_descendants_;
    std::int64_t now_ = 0;
    std::vector<counted_comment> comments_; ///< as they came
    std::unordered_map<std::string, std::size_t> places_;
    counts by_author_;
    counts by_voter_;
    measures result_;
};

} // namespace

measures measure(const std::filesystem::path& block_log) {
    const block_log_reader log(block_log);
    if (log.chain() != social::chain_name && log.chain() != social::generated_chain_name)
        throw usage_error(block_log.string() + ": holds blocks of " + log.chain() +
                          "; only a log of the social chain can be measured");
    measurement all(log.chain() == social::chain_name);
    auto stream = log.stream();
    while (const auto next = stream.next())
        all.add(*next);
    return all.finish();
}

} // namespace chainbase::generate
