#include <pool_allocator/error.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/driver/sync/sync_progress.hpp>

#include <memory>

namespace chainbase::driver {

namespace {

/// One run of sync.
class run {
public:
    run(const sync_options& options, const catch_interruption& signals)
        : options_(options), signals_(signals), source_(make_block_source(options)),
          sync_(*source_, options.steps(),
                [this](const std::string& chain) -> followed_chain& { return open(chain); }) {}

    sync_report work() { return report(follow()); }

private:
    using outcome = chain_sync::outcome;

    /// What ended it; `nothing` when a signal did.
    [[nodiscard]] outcome follow();
    followed_chain& open(const std::string& chain);
    void show(outcome step);
    [[nodiscard]] sync_report report(outcome how);

    const sync_options& options_;
    const catch_interruption& signals_;
    std::unique_ptr<block_source> source_;
    std::unique_ptr<chain_state> state_;
    std::optional<followed_chain> followed_;
    chain_sync sync_;
    std::unique_ptr<sync_progress> shown_;
    chain_gauges gauges_;
    block_feed::waiting waited_before_; ///< for the answer of a peer
    block_feed::waiting waited_; ///< up to the last block that came: what follows is idleness
    std::uint64_t blocks_before_ = 0;
    std::uint64_t operations_before_ = 0;
};

followed_chain& run::open(const std::string& chain) {
    state_ = open_state(options_, chain);
    waited_ = waited_before_ = source_->so_far().waited;
    shown_ = std::make_unique<sync_progress>(*state_, waited_before_);
    blocks_before_ = state_->blocks();
    operations_before_ = state_->operations();
    return followed_.emplace(*state_);
}

void run::show(outcome step) {
    const block_feed::waiting waited = source_->so_far().waited;
    if (step == outcome::applied) waited_ = waited;
    shown_->advance(waited);
    gauges_.update(*state_);
}

run::outcome run::follow() {
    while (!signals_.noted()) {
        const outcome step = sync_.step(std::chrono::milliseconds(100));
        if (step == outcome::end_of_chain || step == outcome::stop_reached) return step;
        if (state_) show(step);
    }
    return outcome::nothing;
}

const char* in_words(chain_sync::outcome end) {
    switch (end) {
    case chain_sync::outcome::end_of_chain:
        return "the end of the peer's chain";
    case chain_sync::outcome::stop_reached:
        return "the block to stop at";
    default:
        return "interrupted; the same call goes on";
    }
}

sync_report run::report(outcome how) {
    sync_report all;
    all.followed = {sync_.so_far(), source_->so_far()};
    source_.reset(); // hangs up; what follows may take long
    if (!state_)
        throw interrupted_error("interrupted before a peer has answered; nothing was changed, and "
                                "the same call goes on");
    if (how == outcome::end_of_chain) state_->finish();
    const double seconds = shown_->seconds();
    shown_->finish(in_words(how));
    all.state = report_on(*state_, how == outcome::nothing);
    if (all.state.broken_books) throw damaged_error(*all.state.broken_books);
    all.state.seconds = seconds;
    all.state.waited = waited_;
    all.state.waited.for_blocks -= waited_before_.for_blocks;
    all.state.replayed_blocks = state_->blocks() - blocks_before_;
    all.state.replayed_operations = state_->operations() - operations_before_;
    if (options_.verify && !all.state.interrupted) all.state.verified = verified(*state_);
    state_->close(); // nothing is reported as done that is not on disk
    return all;
}

} // namespace

sync_report sync(const sync_options& options, const catch_interruption& signals) {
    return run(options, signals).work();
}

} // namespace chainbase::driver
