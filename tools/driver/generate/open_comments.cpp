#include <tools/driver/generate/open_comments.hpp>

#include <iterator>
#include <utility>

namespace chainbase::generate {

open_comments::slot open_comments::add(open_comment one) {
    if (free_.empty()) {
        comments_.push_back(std::move(one));
        return static_cast<slot>(comments_.size() - 1);
    }
    const slot at = free_.back();
    free_.pop_back();
    comments_[at] = std::move(one);
    return at;
}

open_comments::slot open_comments::add_reply(slot post, open_comment one) {
    const slot at = add(std::move(one));
    if (--comments_[post].replies_awaited > 0) {
        ++comments_[at].awaited;
        comments_[post].thread.push_back(at);
    } else {
        for (const slot complete : std::exchange(comments_[post].thread, {}))
            came(complete);
    }
    came(post);
    return at;
}

void open_comments::await(awaited what, slot at, std::uint64_t block) {
    queue(what).push(block << 32 | at);
    ++comments_[at].awaited;
    if (what == awaited::reply) ++comments_[at].replies_awaited;
}

std::optional<open_comments::slot> open_comments::take(awaited what) {
    due_queue& from = queue(what);
    if (from.empty()) return {};
    const auto at = static_cast<slot>(from.top());
    from.pop();
    return at;
}

void open_comments::came(slot at) {
    --comments_[at].awaited;
    forget_if_done(at);
}

void open_comments::forget_if_done(slot at) {
    if (comments_[at].awaited > 0) return;
    comments_[at] = {};
    free_.push_back(at);
}

void deletable_comments::add(comment one, std::int64_t cashout_time) {
    if (by_time_.size() < most) by_time_.emplace(cashout_time, std::move(one));
}

std::optional<deletable_comments::comment> deletable_comments::take(std::int64_t now,
                                                                    random_numbers& random) {
    const auto unpaid = by_time_.lower_bound({now + 1, comment()});
    if (unpaid == by_time_.begin()) return std::nullopt;
    const auto taken = random.chance(1, 2) ? by_time_.begin() : std::prev(unpaid);
    return std::move(by_time_.extract(taken).value().second);
}

} // namespace chainbase::generate
