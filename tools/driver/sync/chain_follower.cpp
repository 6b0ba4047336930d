#include <tools/chains/checked.hpp>
#include <tools/driver/sync/chain_follower.hpp>
#include <tools/driver/sync/messages.hpp>

#include <fmt/format.h>

#include <utility>

namespace chainbase::driver {

using outcome = fork_tree::outcome;
using severity = peer_error::severity;

namespace {

/// Cost of applying or popping a block, in bytes: even an empty block takes a session.
std::uint64_t cost_of(const decoded_block* content) {
    constexpr std::uint64_t of_session = 256;
    return of_session + (content ? content->bytes() : 0);
}

} // namespace

chain_follower::chain_follower(followed_chain& chain, std::size_t lag,
                               std::chrono::milliseconds progress, fork_tree::limits bounds)
    : chain_(chain), tree_(chain.state().last_blocks(), lag, bounds), progress_(progress) {}

chain_follower::counters chain_follower::so_far() const noexcept {
    counters all = counters_;
    all.forks = tree_.forks();
    return all;
}

// --- to the best branch ---

void chain_follower::go_to_best() {
    while (const auto way = tree_.to_best()) {
        if (way->pops > 0) {
            ++counters_.switches;
            ++sender_.switches;
            if (!pop(way->pops)) lacks_blocks_ = true;
        }
        for (const decoded_block* next : way->apply) {
            try {
                chain_.apply(*next);
            } catch (const rejected_error& problem) {
                reject(problem.what());
                break;
            }
            tree_.applied();
        }
    }
}

void chain_follower::reject(const std::string& why) {
    ++counters_.rejected;
    rejections_.say(message_limit::level::warning, why);
    if (tree_.reject(why) != sender_.sender) return;
    ++sender_.rejected;
    last_rejection_ = why;
}

/// Returns whether all of them can be applied again.
bool chain_follower::pop(std::size_t blocks) {
    bool are_here = true;
    for (std::size_t i = 0; i < blocks; ++i) {
        sender_.cost_back += cost_of(tree_.head_content().get());
        chain_.pop(tree_.head_content());
        ++counters_.popped;
        are_here = tree_.popped() && are_here;
    }
    return are_here;
}

// --- what comes ---

void chain_follower::begin_event(const block_source::event& event) noexcept {
    if (sender_.sender != event.sender) sender_ = {};
    sender_.sender = event.sender;
    came_ = event.came;
    was_useful_ = lacks_blocks_ = false;
}

std::optional<chain_follower::complaint> chain_follower::take(block_source::event& event) {
    begin_event(event);
    const std::uint64_t blocks_before = chain_.state().blocks();
    const std::uint64_t rejected_before = counters_.rejected;
    auto wrong = insert_all(event);
    was_useful_ = chain_.state().blocks() > blocks_before;
    if (lacks_blocks_ && counters_.rejected > rejected_before && !was_useful_ && !wrong)
        wrong = complaint{severity::transient,
                          "its better branch was bad, and the blocks that were popped for it "
                          "are from an earlier run: asking for them again"};
    return wrong;
}

std::optional<chain_follower::complaint> chain_follower::insert_all(block_source::event& event) {
    block_place parent = event.blocks.parent;
    for (std::size_t i = 0; i < event.blocks.blocks.size(); ++i) {
        auto& content = event.blocks.blocks[i];
        const block_place place{content->number(), event.blocks.ids[i]};
        const std::uint64_t blocks_before = chain_.state().blocks();
        const std::uint64_t rejected_before = counters_.rejected;
        sender_.cost_sent += cost_of(content.get());
        const outcome how = tree_.insert({parent, place, std::move(content), event.sender});
        if (how == outcome::added) go_to_best();
        if (how == outcome::added && counters_.rejected == rejected_before)
            sender_.no_good_since.reset();
        else if (!sender_.no_good_since)
            sender_.no_good_since = came_;
        if (chain_.state().blocks() > blocks_before) sender_.useless = sender_.rejected = 0;
        if (auto wrong = judge(how, parent, place)) return wrong;
        parent = place;
    }
    return std::nullopt;
}

std::optional<chain_follower::complaint>
chain_follower::judge(outcome how, const block_place& parent, const block_place& place) {
    if (how == outcome::added) return judge_conduct(place);
    if (how == outcome::known || how == outcome::bad) return note_useless(place);
    const complaint wrong = about_link(how, parent, place);
    tree_.forget_from(sender_.sender);
    return wrong;
}

std::optional<chain_follower::complaint> chain_follower::note_useless(const block_place& last) {
    ++counters_.useless;
    ++sender_.useless;
    if (!sender_.no_good_since) sender_.no_good_since = came_;
    return judge_conduct(last);
}

std::optional<chain_follower::complaint>
chain_follower::judge_conduct(const block_place& last) const {
    if (sender_.useless > useless_allowed)
        return complaint{severity::fault,
                         fmt::format("{} blocks in a row that are known already, known to be bad, "
                                     "or not wanted; the last is {}",
                                     sender_.useless, in_words(last))};
    if (sender_.rejected > rejected_allowed)
        return complaint{severity::fault,
                         fmt::format("{} of its blocks break the rules, and none of them makes the "
                                     "chain longer; the last: {}",
                                     sender_.rejected, last_rejection_)};
    if (sender_.switches > switches_allowed &&
        sender_.cost_back > max_taken_back * sender_.cost_sent)
        return complaint{severity::fault,
                         fmt::format("its branches overtake each other in turn: {} switches took "
                                     "back more than {} times as much as it has sent, the last "
                                     "one for {}",
                                     sender_.switches, max_taken_back, in_words(last))};
    if (sender_.no_good_since && came_ - *sender_.no_good_since > progress_)
        return complaint{severity::transient,
                         fmt::format("no new and good block for {} ms; the last is {}",
                                     progress_.count(), in_words(last))};
    return std::nullopt;
}

chain_follower::complaint chain_follower::about_link(outcome how, const block_place& parent,
                                                     const block_place& place) const {
    const std::string link = in_words(place) + " follows " + in_words(parent);
    switch (how) {
    case outcome::below_root:
        return {severity::lasting,
                link +
                    ", which is not a block of this chain, and this state cannot go back before "
                    "its irreversible " +
                    in_words(tree_.root()) +
                    "; name another peer, or sync into another folder, with a larger --lag if the "
                    "chain forks that deep"};
    case outcome::wrong_numbers:
        return {severity::fault, link + ", whose number does not fit"};
    case outcome::full:
        return {tree_.has_waiting_of_others(sender_.sender) ? severity::transient : severity::fault,
                link + ", and there are " + std::to_string(tree_.waiting()) +
                    " blocks beside the chain already; the limit is " +
                    std::to_string(tree_.bounds().blocks) + " with " +
                    std::to_string(tree_.bounds().bytes >> 20) +
                    " MiB, and a larger fork cannot be followed"};
    default:
        return {severity::fault, link + ", which no peer has sent"};
    }
}

std::optional<chain_follower::complaint>
chain_follower::check_head(const block_source::event& event) const {
    if (const auto reason = tree_.bad(event.head.id))
        return complaint{severity::lasting, "its chain up to " + in_words(event.head) +
                                                " has a bad block: " + *reason};
    if (tree_.has(event.head.id) || event.head.number <= tree_.root().number) return std::nullopt;
    return complaint{severity::fault, "it says that its chain ends with " + in_words(event.head) +
                                          ", which it has not sent"};
}

std::optional<chain_follower::complaint>
chain_follower::check_end(const block_source::event& event, const block_place& announced) const {
    const std::string says = "it says that its chain ends with " + in_words(event.head);
    if (event.head.number < announced.number)
        return complaint{severity::transient,
                         says + ", and said before that it has " + in_words(announced)};
    if (event.head == tree_.head()) return std::nullopt;
    return complaint{severity::transient, says +
                                              ", and the state has as many blocks or more, up to " +
                                              in_words(tree_.head())};
}

std::optional<chain_follower::complaint>
chain_follower::check_beyond(const block_source::event& event, std::uint64_t stop_at) {
    begin_event(event);
    if (event.head == tree_.head()) return std::nullopt;
    const bool is_known = tree_.has(event.head.id) || tree_.bad(event.head.id);
    if (is_known || event.head.number > stop_at) return note_useless(event.head);
    return complaint{severity::fault, "what it has next follows " + in_words(event.head) +
                                          ", which no peer has sent"};
}

} // namespace chainbase::driver
