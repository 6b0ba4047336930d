#include <pool_allocator/base/error.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/driver/sync/following.hpp>
#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/peer_feed.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <utility>

namespace chainbase::driver {

namespace {

/// The blocks of a log as if a peer sent them: sync without a network.
class log_source final : public block_source {
public:
    /// `threads`: as in block_feed.
    log_source(const block_log_reader& log, unsigned threads, std::optional<std::uint64_t> stop_at)
        : log_(log), threads_(threads), stop_at_(stop_at) {}

    [[nodiscard]] event next(std::chrono::milliseconds) override {
        event result;
        result.peer = log_.path().string();
        if (feed_) return next_run();
        result.what = event::kind::asks;
        result.chain = log_.chain();
        return result;
    }

    void resume(const std::vector<block_place>& last_blocks) override {
        last_ = last_blocks.back();
        feed_ =
            std::make_unique<block_feed>(log_, decoder_of(log_.chain()),
                                         block_feed::options{last_.number + 1, stop_at_, threads_});
    }
    /// A log has no other blocks to offer.
    void refuse(std::uint64_t, peer_error::severity how, const std::string& reason) override {
        throw peer_error(how, reason);
    }
    void mark_useful(std::uint64_t) override {}
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override {
        block_feed::chunk chunk;
        chunk.blocks = std::move(used);
        feed_->give_back(std::move(chunk));
    }
    [[nodiscard]] counters so_far() const override {
        counters all;
        all.bytes = bytes_;
        if (feed_) all.waited = feed_->waited();
        return all;
    }

private:
    [[nodiscard]] event next_run() {
        event result;
        result.peer = log_.path().string();
        std::optional<block_feed::chunk> chunk = feed_->next();
        if (!chunk) {
            const bool is_all = !stop_at_ || log_.head_number().value_or(0) <= *stop_at_;
            result.what = is_all ? event::kind::end : event::kind::beyond;
            result.head = last_;
            return result;
        }
        result.what = event::kind::blocks;
        result.blocks.parent = last_;
        for (const auto& one : chunk->blocks) {
            last_ = {one->number(), next_id(last_.id, one->checksum())};
            result.blocks.ids.push_back(last_.id);
        }
        result.blocks.blocks = std::move(chunk->blocks);
        result.blocks.memory = chunk->memory;
        bytes_ += chunk->bytes;
        return result;
    }

    block_log_reader log_;
    unsigned threads_;
    std::optional<std::uint64_t> stop_at_;
    std::unique_ptr<block_feed> feed_; ///< after resume()
    block_place last_;
    std::uint64_t bytes_ = 0;
};

} // namespace

using event_kind = block_source::event::kind;

/// The first sender names the chain of a new state.
void chain_sync::answer(const block_source::event& asked) {
    if (chain_ == nullptr) {
        chain_ = &open_(asked.chain);
        follower_.emplace(*chain_, how_.lag, how_.progress);
    }
    announced_head_ = asked.head;
    follower_->begin_connection();
    source_.resume(chain_->state().last_blocks());
    source_.give_back(follower_->take_freed());
}

void chain_sync::complain(const block_source::event& about, const chain_follower::complaint& what) {
    source_.refuse(about.sender, what.how, "peer " + about.peer + ": " + what.what);
}

void chain_sync::take(block_source::event& next) {
    const auto wrong = follower_->take(next);
    if (follower_->was_useful()) source_.mark_useful(next.sender);
    if (wrong) complain(next, *wrong);
    source_.give_back(follower_->take_freed());
}

std::optional<chain_follower::complaint>
chain_sync::check_head(const block_source::event& next) const {
    if (how_.stop_at && next.head.number > *how_.stop_at)
        return chain_follower::complaint{peer_error::severity::transient,
                                         "its chain, up to " + in_words(next.head) +
                                             ", is beyond the block to stop at and does "
                                             "not lead there by way of " +
                                             in_words(follower_->head())};
    auto wrong = follower_->check_head(next);
    if (!wrong && next.what == event_kind::end) wrong = follower_->check_end(next, announced_head_);
    return wrong;
}

/// Whether the work is done when a sender has no more blocks.
bool chain_sync::is_at_end(const block_source::event& next) {
    if (const auto wrong = check_head(next)) {
        complain(next, *wrong);
        return false;
    }
    return next.what == event_kind::end && how_.once;
}

/// Whether the head is the last block before the one to stop at. If the sender is on another
/// branch, the head's successor may still come.
bool chain_sync::is_at_stop(const block_source::event& next) {
    if (const auto wrong = follower_->check_beyond(next, how_.stop_at.value_or(UINT64_MAX)))
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

namespace {

std::string chain_to_follow(const following_options& options, const chain_state* open) {
    if (!options.chain.empty()) require_known_chain(options.chain);
    const std::optional<std::string> known =
        open ? open->chain() : chain_state::chain_of(options.state, options.state_settings);
    if (known && !options.chain.empty() && *known != options.chain)
        throw usage_error("the state " + options.state.string() + " is of the chain " + *known +
                          ", not of " + options.chain + "; name that chain, or another folder");
    return known.value_or(options.chain);
}

} // namespace

std::unique_ptr<block_source> make_block_source(const following_options& options,
                                                const chain_state* open) {
    if (options.block_log)
        return std::make_unique<log_source>(open_log(*options.block_log), options.threads,
                                            options.stop_at);
    peer_options network = options.network;
    network.peers = options.peers;
    network.chain = chain_to_follow(options, open);
    network.stop_at = options.stop_at;
    if (options.once && network.attempts == 0) network.attempts = 10;
    return make_peer_feed(std::move(network));
}

std::optional<std::string> cut_of(const following_options& options) {
    if (!options.block_log) return std::nullopt;
    const std::string cut = open_log(*options.block_log).cut();
    return cut.empty() ? std::nullopt : std::optional(cut);
}

std::unique_ptr<chain_state> open_state(const following_options& options,
                                        const std::string& chain) {
    auto state =
        std::make_unique<chain_state>(options.state, chain, options.lag, options.state_settings);
    if (options.block_log) state->align_with_log(open_log(*options.block_log));
    if (options.stop_at) state->require_not_beyond(*options.stop_at);
    state->apply_root_options();
    return state;
}

following_figures figures_of(const chain_sync& sync, const block_source& source) {
    const chain_follower::counters chain = sync.so_far();
    const block_source::counters came = source.so_far();
    return {chain.forks,   chain.switches,   chain.popped,  chain.rejected,
            chain.useless, came.connections, came.failures, came.bytes};
}

std::string in_words(const following_figures& all) {
    return fmt::format("forks: {}, switches to another branch: {}, blocks popped: {}, rejected: "
                       "{}, useless: {}\n"
                       "received: {} in {} connections, {} failures\n",
                       all.forks, all.switches, all.popped_blocks, all.rejected_blocks,
                       all.useless_blocks, bytes_in_words(all.bytes_received), all.connections,
                       all.failures);
}

} // namespace chainbase::driver
