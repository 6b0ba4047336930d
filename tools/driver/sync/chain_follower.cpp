#include <tools/chains/checked.hpp>
#include <tools/driver/sync/chain_follower.hpp>
#include <tools/driver/sync/messages.hpp>

#include <spdlog/spdlog.h>

#include <utility>

namespace chainbase::driver {

using outcome = fork_tree::outcome;
using severity = peer_error::severity;

chain_follower::chain_follower(followed_chain& chain, std::size_t lag, fork_tree::limits bounds)
    : chain_(chain), tree_(chain.state().last_blocks(), lag, bounds) {}

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
            if (!pop(way->pops)) lacks_blocks_ = true;
        }
        for (const decoded_block* next : way->apply) {
            try {
                chain_.apply(*next);
            } catch (const rejected_error& problem) {
                ++counters_.rejected;
                spdlog::warn("{}", problem.what());
                tree_.reject(problem.what());
                break;
            }
            tree_.applied();
        }
    }
}

/// Returns whether all of them could be applied again.
bool chain_follower::pop(std::size_t blocks) {
    bool are_here = true;
    for (std::size_t i = 0; i < blocks; ++i) {
        chain_.pop(tree_.head_content());
        ++counters_.popped;
        are_here = tree_.popped() && are_here;
    }
    return are_here;
}

// --- what comes ---

void chain_follower::begin_event(const block_source::event& event) noexcept {
    if (std::exchange(sender_, event.sender) != event.sender) useless_in_a_row_ = 0;
    was_useful_ = lacks_blocks_ = false;
}

std::optional<chain_follower::complaint> chain_follower::take(block_source::event& event) {
    begin_event(event);
    const block_place before = tree_.head();
    const std::uint64_t blocks_before = chain_.state().blocks();
    const std::uint64_t rejected_before = counters_.rejected;
    auto wrong = insert_all(event);
    was_useful_ = !(tree_.head() == before);
    const bool is_no_better =
        counters_.rejected > rejected_before && chain_.state().blocks() <= blocks_before;
    if (lacks_blocks_ && is_no_better) {
        was_useful_ = false;
        if (!wrong)
            wrong = complaint{severity::transient,
                              "its better branch was bad, and the blocks that were popped for it "
                              "are from an earlier run: asking for them again"};
    }
    if (was_useful_) useless_in_a_row_ = 0;
    return wrong;
}

std::optional<chain_follower::complaint> chain_follower::insert_all(block_source::event& event) {
    block_place parent = event.blocks.parent;
    for (std::size_t i = 0; i < event.blocks.blocks.size(); ++i) {
        auto& content = event.blocks.blocks[i];
        const block_place place{content->number(), event.blocks.ids[i]};
        const outcome how = tree_.insert({parent, place, std::move(content), event.sender});
        if (how == outcome::added) go_to_best();
        if (auto wrong = judge(how, parent, place)) return wrong;
        parent = place;
    }
    return std::nullopt;
}

std::optional<chain_follower::complaint>
chain_follower::judge(outcome how, const block_place& parent, const block_place& place) {
    if (how == outcome::added) return std::nullopt;
    if (how == outcome::known || how == outcome::bad) return note_useless(place);
    const complaint wrong = about_link(how, parent, place);
    tree_.forget_from(sender_);
    return wrong;
}

std::optional<chain_follower::complaint> chain_follower::note_useless(const block_place& last) {
    ++counters_.useless;
    if (++useless_in_a_row_ <= useless_allowed) return std::nullopt;
    return complaint{severity::fault, std::to_string(useless_in_a_row_) +
                                          " blocks in a row that are known already, known to be "
                                          "bad, or not wanted; the last is " +
                                          in_words(last)};
}

chain_follower::complaint chain_follower::about_link(outcome how, const block_place& parent,
                                                     const block_place& place) const {
    const std::string link = in_words(place) + " follows " + in_words(parent);
    switch (how) {
    case outcome::below_root:
        return {severity::lasting,
                link +
                    ", which is no block of this chain, and this state cannot go back behind "
                    "its irreversible " +
                    in_words(tree_.root()) +
                    "; name another peer, or sync into another folder, with a larger --lag if the "
                    "chain forks that deep"};
    case outcome::wrong_numbers:
        return {severity::fault, link + ", whose number is another"};
    case outcome::full:
        return {tree_.has_waiting_of_others(sender_) ? severity::transient : severity::fault,
                link + ", and there are " + std::to_string(tree_.waiting()) +
                    " blocks beside the chain already, of at most " +
                    std::to_string(tree_.bounds().blocks) + " with " +
                    std::to_string(tree_.bounds().bytes >> 20) +
                    " MiB: a fork that is larger cannot be followed"};
    default:
        return {severity::fault, link + ", which nobody has sent"};
    }
}

std::optional<chain_follower::complaint>
chain_follower::judge_head(const block_source::event& event) const {
    if (const auto reason = tree_.bad(event.head.id))
        return complaint{severity::lasting, "its chain up to " + in_words(event.head) +
                                                " has a bad block: " + *reason};
    if (tree_.has(event.head.id) || event.head.number <= tree_.root().number) return std::nullopt;
    return complaint{severity::fault, "it says that its chain ends with " + in_words(event.head) +
                                          ", which it has not sent"};
}

std::optional<chain_follower::complaint>
chain_follower::judge_end(const block_source::event& event, const block_place& promised) const {
    const std::string says = "it says that its chain ends with " + in_words(event.head);
    if (event.head.number < promised.number)
        return complaint{severity::transient,
                         says + ", and said before that it has " + in_words(promised)};
    if (event.head == tree_.head()) return std::nullopt;
    return complaint{severity::transient, says +
                                              ", and the state has as many blocks or more, up to " +
                                              in_words(tree_.head())};
}

std::optional<chain_follower::complaint>
chain_follower::judge_beyond(const block_source::event& event, std::uint64_t stop_at) {
    begin_event(event);
    if (event.head == tree_.head()) return std::nullopt;
    const bool is_known = tree_.has(event.head.id) || tree_.bad(event.head.id);
    if (is_known || event.head.number > stop_at) return note_useless(event.head);
    return complaint{severity::fault, "what it has next follows " + in_words(event.head) +
                                          ", which nobody has sent"};
}

} // namespace chainbase::driver
