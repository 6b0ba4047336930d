#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/measures.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace chainbase::generate {
namespace {

struct counted_comment {
    bool is_post = false;
    std::int64_t votes = 0;
    std::int64_t children = 0;
};

std::string key_of(std::string_view author, std::string_view permlink) {
    std::string key(author);
    key += '/';
    key += permlink;
    return key;
}

class measurement {
public:
    /// `states_children`: the log says of a comment what is not counted then.
    explicit measurement(bool states_children) : states_children_(states_children) {}

    void add(const block& next) {
        now_ = next.timestamp;
        for (const transaction& part : next.transactions)
            for (const bytes& encoded : part.operations)
                add(social::decode_operation(encoded));
    }

    measures finish() {
        for (const auto& [key, one] : comments_) {
            note(one.is_post, distribution::post_votes, one.votes);
            note(one.is_post, distribution::post_children, one.children);
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
        if (!is_post) answer(op);
        comments_[key_of(op.author, op.permlink)] = {is_post, 0,
                                                     states_children_ ? op.children : 0};
    }

    void answer(const social::comment& op) {
        const auto parent = comments_.find(key_of(op.parent_author, op.parent_permlink));
        if (parent == comments_.end()) return;
        ++(parent->second.is_post ? result_.replies_to_posts : result_.replies_to_replies);
        if (!states_children_) ++parent->second.children;
    }

    void add(const social::vote& op) {
        ++by_voter_[std::string(op.voter.view())];
        ++comments_[key_of(op.author, op.permlink)].votes;
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

    bool states_children_;
    std::int64_t now_ = 0;
    std::unordered_map<std::string, counted_comment> comments_;
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
