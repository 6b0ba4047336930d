#include <pool_allocator/error.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/sync/log_source.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/driver/sync/sync_progress.hpp>

#include <memory>

namespace chainbase::driver {

namespace {

using event_kind = block_source::event::kind;

std::unique_ptr<block_source> source_of(const sync_options& options) {
    if (options.block_log) {
        const block_log_reader log(*options.block_log);
        return std::make_unique<log_source>(log, options.threads, options.stop_at);
    }
    peer_feed::options network = options.network;
    network.peers = options.peers;
    network.stop_at = options.stop_at;
    if (options.once && network.attempts == 0) network.attempts = 10;
    return std::make_unique<peer_feed>(std::move(network));
}

enum class outcome { end_of_chain, stop_reached, interrupted };

/// One run of sync.
class run {
public:
    run(const sync_options& options, const catch_interruption& signals)
        : options_(options), signals_(signals), source_(source_of(options)) {}

    sync_report work();

private:
    [[nodiscard]] outcome follow();
    void answer(const block_source::event& asked);
    void open(const std::string& chain);
    void take(block_source::event& next);
    [[nodiscard]] bool is_at_end(const block_source::event& next);
    void complain(const block_source::event& about, const chain_follower::complaint& what);
    [[nodiscard]] sync_report report(outcome how);

    const sync_options& options_;
    const catch_interruption& signals_;
    std::unique_ptr<block_source> source_;
    std::unique_ptr<chain_state> state_;
    std::unique_ptr<chain_follower> follower_;
    std::unique_ptr<sync_progress> shown_;
    chain_gauges gauges_;
    block_feed::waiting waited_; ///< up to the last block that came: what follows is idleness
    std::uint64_t blocks_before_ = 0;
    std::uint64_t operations_before_ = 0;
};

/// The first peer that answers says of which chain a new state is.
void run::open(const std::string& chain) {
    state_ = std::make_unique<chain_state>(options_.state, chain, options_.lag);
    if (options_.stop_at && state_->head() > *options_.stop_at)
        throw usage_error("the state " + options_.state.string() + " stands at block " +
                          std::to_string(state_->head()) + " already, beyond the block " +
                          std::to_string(*options_.stop_at) +
                          " to stop at; name another folder, or a later block");
    follower_ = std::make_unique<chain_follower>(*state_, options_.lag);
    shown_ = std::make_unique<sync_progress>(*state_);
    blocks_before_ = state_->blocks();
    operations_before_ = state_->operations();
}

void run::answer(const block_source::event& asked) {
    if (!state_) open(asked.chain);
    source_->resume(state_->last_blocks());
}

void run::complain(const block_source::event& about, const chain_follower::complaint& what) {
    source_->refuse(about.sender, what.how, "peer " + about.peer + ": " + what.what);
}

void run::take(block_source::event& next) {
    const auto wrong = follower_->take(next);
    if (follower_->was_useful()) source_->praise(next.sender);
    if (wrong) complain(next, *wrong);
    source_->give_back(follower_->take_freed());
    waited_ = source_->so_far().waited;
    shown_->advance(waited_);
    gauges_.update(*state_);
}

/// Whether there is nothing left to do when a sender has no more.
bool run::is_at_end(const block_source::event& next) {
    if (const auto wrong = follower_->judge_head(next)) {
        complain(next, *wrong);
        return false;
    }
    return next.what == event_kind::end && options_.once;
}

outcome run::follow() {
    while (!signals_.noted()) {
        if (state_ && options_.stop_at && state_->head() == *options_.stop_at)
            return outcome::stop_reached;
        block_source::event next = source_->next(std::chrono::milliseconds(100));
        switch (next.what) {
        case event_kind::nothing:
            if (shown_) shown_->advance(source_->so_far().waited);
            if (state_) gauges_.update(*state_);
            break;
        case event_kind::asks:
            answer(next);
            break;
        case event_kind::blocks:
            take(next);
            break;
        case event_kind::beyond:
            return outcome::stop_reached;
        case event_kind::caught_up:
        case event_kind::end:
            if (is_at_end(next)) return outcome::end_of_chain;
            break;
        }
    }
    return outcome::interrupted;
}

sync_report run::report(outcome how) {
    sync_report all;
    all.source = source_->so_far();
    source_.reset(); // hangs up; what follows may take long
    if (!state_) throw usage_error("interrupted before a peer has answered; nothing was changed");
    if (how == outcome::end_of_chain) state_->finish();
    const double seconds = shown_->seconds();
    shown_->finish(how == outcome::end_of_chain   ? "the end of the peer's chain"
                   : how == outcome::stop_reached ? "the block to stop at"
                                                  : "interrupted; the same call goes on");
    state_->model().check();
    all.chain = follower_->so_far();
    follower_.reset();
    all.state = report_on(*state_, state_->chain());
    all.state.interrupted = how == outcome::interrupted;
    all.state.seconds = seconds;
    all.state.waited = waited_;
    all.state.replayed_blocks = state_->blocks() - blocks_before_;
    all.state.replayed_operations = state_->operations() - operations_before_;
    if (options_.verify) all.state.verified = verified(*state_);
    state_->close(); // nothing is reported as done that is not on disk
    return all;
}

sync_report run::work() {
    return report(follow());
}

} // namespace

sync_report sync(const sync_options& options, const catch_interruption& signals) {
    return run(options, signals).work();
}

} // namespace chainbase::driver
