#include <pool_allocator/base/error.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <memory>

namespace chainbase::driver {

namespace {

/// Shows the progress of a sync, and logs its end. Without a remaining time: a peer's chain grows.
class sync_progress {
public:
    /// `waited`: time spent on other things than blocks, such as a peer's first answer.
    sync_progress(const chain_state& state, block_feed::waiting waited)
        : state_(state), operations_before_(state.operations()),
          operations_then_(operations_before_), seen_(state.head_id()), waited_then_(waited) {}

    /// Call it after some blocks, with the waiting times so far.
    void advance(block_feed::waiting waited) {
        const auto now = clock::now();
        const block_id head = state_.head_id();
        if (head != seen_) last_block_ = now;
        seen_ = head;
        shown_.show(state_.blocks(), 0, [&] {
            const double window = std::chrono::duration<double>(now - last_line_).count();
            const std::uint64_t operations = state_.operations();
            const double waiting =
                std::chrono::duration<double>(waited.for_blocks - waited_then_.for_blocks).count();
            const std::uint64_t done =
                operations > operations_then_ ? operations - operations_then_ : 0;
            last_line_ = now;
            operations_then_ = operations;
            waited_then_ = waited;
            return fmt::format("block {}, irreversible {}: {} blocks, {:.0f} operations/s, memory "
                               "{}, waited for blocks {:.0f} % of the time",
                               state_.head(), state_.irreversible(), state_.blocks(),
                               static_cast<double>(done) / window,
                               bytes_in_words(state_.memory().total), 100 * waiting / window);
        });
    }
    /// Logs the final line: the state's head and why the work ended.
    void finish(const char* how) const {
        const double time = seconds();
        const std::uint64_t operations = state_.operations();
        const std::uint64_t done =
            operations > operations_before_ ? operations - operations_before_ : 0;
        spdlog::info("block {}, irreversible {}: {} blocks, {:.0f} operations/s, {}, {}",
                     state_.head(), state_.irreversible(), state_.blocks(),
                     time > 0 ? static_cast<double>(done) / time : 0, duration_in_words(time), how);
    }
    /// From the begin to the last block that came.
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(last_block_ - begin_).count();
    }

private:
    using clock = std::chrono::steady_clock;

    const chain_state& state_;
    progress shown_{"following", "blocks"};
    clock::time_point begin_ = clock::now();
    clock::time_point last_block_ = begin_;
    clock::time_point last_line_ = begin_;
    std::uint64_t operations_before_;
    std::uint64_t operations_then_;
    block_id seen_;
    block_feed::waiting waited_then_;
};

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

/// One run of sync.
class run {
public:
    run(const sync_options& options, const catch_interruption& signals,
        std::unique_ptr<chain_state> begun)
        : options_(options), signals_(signals), source_(make_block_source(options, begun.get())),
          begun_(std::move(begun)),
          sync_(*source_, options.steps(),
                [this](const std::string& chain) -> followed_chain& { return open(chain); }) {}

    sync_report work() { return report(follow()); }

private:
    using outcome = chain_sync::outcome;

    /// Why it ended; `nothing` when a signal came.
    [[nodiscard]] outcome follow() {
        while (!signals_.caught()) {
            const outcome step = sync_.step(std::chrono::milliseconds(100));
            if (step == outcome::end_of_chain || step == outcome::stop_reached) return step;
            if (state_) show(step);
        }
        return outcome::nothing;
    }
    followed_chain& open(const std::string& chain) {
        state_ = begun_ ? std::move(begun_) : open_state(options_, chain);
        waited_ = waited_before_ = source_->so_far().waited;
        shown_ = std::make_unique<sync_progress>(*state_, waited_before_);
        blocks_before_ = state_->blocks();
        operations_before_ = state_->operations();
        return followed_.emplace(*state_);
    }
    void show(outcome step) {
        const block_feed::waiting waited = source_->so_far().waited;
        if (step == outcome::applied) waited_ = waited;
        shown_->advance(waited);
        gauges_.update(*state_);
    }
    [[nodiscard]] sync_report report(outcome how) {
        sync_report all;
        all.followed = figures_of(sync_, *source_);
        source_.reset(); // disconnects: what follows may take long
        if (!state_)
            throw interrupted_error(
                "interrupted before a peer has answered; nothing was changed, and "
                "the same call goes on");
        if (how == outcome::end_of_chain) state_->finish();
        const double seconds = shown_->seconds();
        shown_->finish(in_words(how));
        all.state = report_on(*state_, how == outcome::nothing);
        if (all.state.broken_books) throw damaged_error(*all.state.broken_books);
        if (how == outcome::end_of_chain) all.state.log_cut = cut_of(options_);
        all.state.seconds = seconds;
        all.state.waited = waited_;
        all.state.waited.for_blocks -= waited_before_.for_blocks;
        all.state.replayed_blocks = state_->blocks() - blocks_before_;
        all.state.replayed_operations = state_->operations() - operations_before_;
        if (options_.verify && !all.state.interrupted) all.state.verified = verified(*state_);
        state_->close(); // nothing is reported as done before it is on disk
        return all;
    }

    const sync_options& options_;
    const catch_interruption& signals_;
    std::unique_ptr<block_source> source_;
    std::unique_ptr<chain_state> begun_; ///< what the caller opened, until a peer answers
    std::unique_ptr<chain_state> state_;
    std::optional<followed_chain> followed_;
    chain_sync sync_;
    std::unique_ptr<sync_progress> shown_;
    chain_gauges gauges_;
    block_feed::waiting waited_before_; ///< for a peer's answer
    block_feed::waiting waited_;        ///< up to the last block: later waiting is idleness
    std::uint64_t blocks_before_ = 0;
    std::uint64_t operations_before_ = 0;
};

} // namespace

sync_report sync(const sync_options& options, const catch_interruption& signals,
                 std::unique_ptr<chain_state> open) {
    std::optional<snapshot_figures> begun;
    if (options.from_snapshot) begun = start_from_snapshot(*options.from_snapshot, options);
    sync_report report = run(options, signals, std::move(open)).work();
    report.snapshot = std::move(begun);
    return report;
}

json report_value(const sync_report& report) {
    json all{{"mode", "sync"},
             {"sync", json_of(report.followed)},
             {"snapshot", json_of(report.snapshot)}};
    all.update(json_of(report.state));
    return all;
}

std::string to_text(const sync_report& report) {
    const auto& begun = report.snapshot;
    const std::string first =
        begun ? fmt::format("snapshot {}, block {}: {} objects, {} chunks, {} of them fetched, {}, "
                            "{} kept, {}\n",
                            begun->name, begun->block, begun->objects, begun->chunks,
                            begun->fetched_chunks, bytes_in_words(begun->fetched_bytes),
                            begun->kept_chunks, duration_in_words(begun->seconds))
              : "";
    return first + in_words(report.followed) + to_text(report.state);
}

} // namespace chainbase::driver
