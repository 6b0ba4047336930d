#include <chainbase/checkpoint/service.hpp>
#include <pool_allocator/base/background_thread.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

namespace chainbase::checkpoint {

bool is_same_failure(std::string_view one, std::string_view other) noexcept {
    const auto is_no_digit = [](char c) { return (c < '0' || c > '9') && (c < 'a' || c > 'f'); };
    return std::ranges::equal(std::views::filter(one, is_no_digit),
                              std::views::filter(other, is_no_digit));
}

using clock = std::chrono::steady_clock;

namespace {

/// The pause between attempts to begin a new run of the redo log.
constexpr std::chrono::seconds retry_interval{1};

} // namespace

service::service(checkpointer& of, std::function<checkpointer::source()> source, undo_log& log,
                 const schedule& when, prior_sync& before, std::unique_ptr<redo_log> redo)
    : checkpointer_(of), source_(std::move(source)), log_(log), when_(when), before_(before),
      redo_(std::move(redo)),
      captured_at_(redo_ && !redo_->is_whole() ? clock::time_point() : clock::now()),
      thread_(background_thread("checkpoint", [this] { run(); })) {
    log_.call_at_boundaries(this);
}

service::~service() {
    log_.call_at_boundaries(nullptr);
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return phase_ == phase::idle; });
        phase_ = phase::stopping;
    }
    changed_.notify_all();
    thread_.join();
}

bool service::is_due() noexcept {
    ++blocks_;
    if (is_outdated_) return true;
    if (redo_ && !redo_->is_anchored() && clock::now() - captured_at_ >= retry_interval)
        return true;
    if (when_.blocks != 0 && blocks_ >= when_.blocks) return true;
    return when_.interval.count() != 0 && clock::now() - captured_at_ >= when_.interval;
}

/// A block that ends while a checkpoint is being written makes none due: the next one will.
void service::reached() noexcept {
    if (redo_) redo_->block_ended();
    if (!is_due() || phase_ != phase::idle) return;
    try {
        capture();
    } catch (const std::bad_alloc&) {
        captured_at_ = clock::now(); // retried after the interval
        blocks_ = 0;
        ++without_memory_;
    }
}

/// Requires that no checkpoint is in progress.
void service::capture() {
    checkpointer::source now = source_();
    now.redo = redo_ ? redo_->captured() : redo_log::no_block;
    checkpointer_.capture(now);
    captured_at_ = clock::now();
    blocks_ = 0;
    is_outdated_ = false;
    {
        const std::lock_guard lock(mutex_);
        phase_ = phase::captured;
    }
    changed_.notify_all();
}

void service::wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return phase_ == phase::idle; });
}

outcome service::now() {
    wait_until_idle();
    is_awaited_ = true;
    do {
        capture();
        wait_until_idle();
    } while (is_outdated_);
    is_awaited_ = false;
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return *history_.last;
}

/// The checkpoint in progress may be the one that the blocks follow.
void service::wait_until_durable() {
    if (redo_ && redo_->wait_until_synced()) return;
    wait_until_idle();
    if (redo_ && redo_->wait_until_synced()) return;
    now();
}

history service::so_far() const {
    const std::lock_guard lock(mutex_);
    history all = history_;
    if (redo_) all.redo = redo_->so_far();
    all.failed += without_memory_;
    return all;
}

void service::run() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return phase_ != phase::idle; });
            if (phase_ == phase::stopping) return;
        }
        write_captured();
        changed_.notify_all();
    }
}

void service::write_captured() {
    try {
        const std::optional<outcome> written = checkpointer_.write(before_);
        if (!written) {
            if (redo_)
                redo_->was_not_published(redo_log::published_blocks::of(checkpointer_.done()));
            const std::lock_guard lock(mutex_);
            is_outdated_ = true;
            phase_ = phase::idle;
            return;
        }
        const outcome& done = *written;
        notify_redo_log();
        const std::lock_guard lock(mutex_);
        ++history_.made;
        history_.last = done;
        if (!history_.last_failure.empty())
            spdlog::info("checkpoint {}: made at revision {}, after earlier attempts failed",
                         done.generation, done.revision);
        history_.last_failure.clear();
        failure_ = nullptr;
        phase_ = phase::idle;
    } catch (const std::exception& problem) {
        if (redo_) redo_->was_not_published(redo_log::published_blocks::of(checkpointer_.done()));
        const std::lock_guard lock(mutex_);
        ++history_.failed;
        failure_ = std::current_exception();
        phase_ = phase::idle;
        tell(problem.what());
    }
}

/// Tells the redo log that blocks before both checkpoints are no longer needed.
void service::notify_redo_log() noexcept {
    try {
        if (redo_) redo_->was_published(redo_log::published_blocks::of(checkpointer_.done()));
        checkpointer_.remove_obsolete_redo();
    } catch (const std::exception& problem) {
        spdlog::warn("redo log: {}; the file stays, but is no longer needed", problem.what());
    }
}

/// Requires the mutex. Who waits for the checkpoint is told by the exception.
void service::tell(const char* problem) noexcept {
    try {
        const std::string told = std::exchange(history_.last_failure, problem);
        if (is_awaited_ || is_same_failure(told, problem)) return;
        spdlog::error("checkpoint: {}; the previous checkpoint stays valid, and the state stays "
                      "open",
                      problem);
    } catch (const std::exception&) { // not logged for lack of memory
    }
}

} // namespace chainbase::checkpoint
