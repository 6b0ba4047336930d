#include <tools/driver/sync/chain_sync.hpp>
#include <tools/driver/sync/messages.hpp>

namespace chainbase::driver {

using event_kind = block_source::event::kind;

/// The first sender says of which chain a new state is.
void chain_sync::answer(const block_source::event& asked) {
    if (chain_ == nullptr) {
        chain_ = &open_(asked.chain);
        follower_.emplace(*chain_, how_.lag);
    }
    promised_ = asked.head;
    follower_->begin_connection();
    source_.resume(chain_->state().last_blocks());
    source_.give_back(follower_->take_freed());
}

void chain_sync::complain(const block_source::event& about, const chain_follower::complaint& what) {
    source_.refuse(about.sender, what.how, "peer " + about.peer + ": " + what.what);
}

void chain_sync::take(block_source::event& next) {
    const auto wrong = follower_->take(next);
    if (follower_->was_useful()) source_.praise(next.sender);
    if (wrong) complain(next, *wrong);
    source_.give_back(follower_->take_freed());
}

std::optional<chain_follower::complaint>
chain_sync::judge_head(const block_source::event& next) const {
    if (how_.stop_at && next.head.number > *how_.stop_at)
        return chain_follower::complaint{peer_error::severity::transient,
                                         "its chain, up to " + in_words(next.head) +
                                             ", is beyond the block to stop at and does "
                                             "not lead there by way of " +
                                             in_words(follower_->head())};
    auto wrong = follower_->judge_head(next);
    if (!wrong && next.what == event_kind::end) wrong = follower_->judge_end(next, promised_);
    return wrong;
}

/// Whether there is nothing left to do when a sender has no more.
bool chain_sync::is_at_end(const block_source::event& next) {
    if (const auto wrong = judge_head(next)) {
        complain(next, *wrong);
        return false;
    }
    return next.what == event_kind::end && how_.once;
}

/// Whether the head is the last block before the one to stop at. When the sender is on another
/// branch, the head's may still follow.
bool chain_sync::is_at_stop(const block_source::event& next) {
    if (const auto wrong = follower_->judge_beyond(next, how_.stop_at.value_or(UINT64_MAX)))
        complain(next, *wrong);
    return next.head == follower_->head();
}

chain_sync::outcome chain_sync::step(std::chrono::milliseconds patience) {
    if (chain_ != nullptr && how_.stop_at && chain_->state().head() == *how_.stop_at)
        return outcome::stop_reached;
    block_source::event next = source_.next(patience);
    switch (next.what) {
    case event_kind::nothing:
        return outcome::nothing;
    case event_kind::asks:
        answer(next);
        return outcome::answered;
    case event_kind::blocks:
        take(next);
        return outcome::applied;
    case event_kind::beyond:
        return is_at_stop(next) ? outcome::stop_reached : outcome::nothing;
    case event_kind::caught_up:
    case event_kind::end:
        return is_at_end(next) ? outcome::end_of_chain : outcome::nothing;
    }
    return outcome::nothing;
}

chain_follower::counters chain_sync::so_far() const {
    return follower_ ? follower_->so_far() : chain_follower::counters{};
}

} // namespace chainbase::driver
