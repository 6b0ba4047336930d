#include <chainbase/snapshot/read_pool.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace chainbase {

namespace {

using steady = std::chrono::steady_clock;

/// How often a waiting request checks whether it may read the last snapshot after all.
constexpr std::chrono::milliseconds look_again{10};

/// Waits until nobody reads it: a third snapshot would need addresses for all windows of the state,
/// too.
void wait_for_readers(const std::shared_ptr<snapshot>& of) {
    const auto end = steady::now() + std::chrono::seconds(1);
    while (of && of.use_count() > 1 && steady::now() < end)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
}

} // namespace

class read_pool::renewer {
public:
    renewer(taker take, const options& how)
        : take_(std::move(take)), how_(how), worker_([this] { work(); }) {}
    ~renewer() {
        {
            const std::lock_guard alone(mutex_);
            is_over_ = true;
        }
        asked_.notify_one();
        worker_.join();
    }
    renewer(const renewer&) = delete;
    renewer& operator=(const renewer&) = delete;

    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }
    [[nodiscard]] std::shared_ptr<const snapshot> current();
    [[nodiscard]] std::uint64_t taken() const {
        const std::lock_guard alone(mutex_);
        return taken_;
    }

private:
    void work();
    [[nodiscard]] std::shared_ptr<snapshot> next(std::shared_ptr<snapshot> former) const;
    /// The greatest age that a request accepts. Requires the mutex.
    [[nodiscard]] steady::duration most_age(steady::time_point now) const noexcept {
        const steady::duration most = how_.most_age;
        const steady::duration takes = begun_ > done_ ? now - began_at_ : most.zero();
        return most == most.zero() ? most : std::max(most, 4 * std::max(took_, takes));
    }

    process_of_origin origin_;
    taker take_;
    options how_;
    mutable std::mutex mutex_;      ///< for what follows
    std::condition_variable asked_; ///< the worker
    std::condition_variable made_;  ///< a snapshot
    std::shared_ptr<snapshot> last_;
    std::shared_ptr<snapshot> former_;
    steady::time_point newest_at_; ///< when the last one was known to be the newest
    steady::time_point began_at_;  ///< the newest renewal
    steady::duration took_{};      ///< the last that is done
    std::exception_ptr failure_;   ///< of the last renewal
    std::uint64_t begun_ = 0;      ///< renewals
    std::uint64_t done_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t wanted_ = 0; ///< the renewal that a request waits for
    bool is_asked_ = false;    ///< for one after the rest
    bool is_over_ = false;
    std::thread worker_;
};

/// Waits for a renewal that begins after this request, or until the last snapshot may be read.
std::shared_ptr<const snapshot> read_pool::renewer::current() {
    origin_.require_here("a read pool");
    std::uint64_t awaited = 0; // renewal
    std::unique_lock alone(mutex_);
    for (;;) {
        const steady::time_point looked_at = steady::now();
        const std::uint64_t done = done_;
        std::shared_ptr<snapshot> now = last_;
        const bool was_newest = now && looked_at - newest_at_ < most_age(looked_at);
        alone.unlock();
        const bool is_newest = now && now->is_newest();
        const bool is_small = is_newest && now->costs().bytes <= how_.most_bytes;
        const bool may_be_read = is_newest || (was_newest && !now->is_too_old());
        if (!may_be_read) now.reset(); // the worker may wait for it, to renew it
        alone.lock();
        if (is_newest && now == last_) newest_at_ = std::max(newest_at_, looked_at);
        if (is_small) return now;
        if (may_be_read) {
            if (!std::exchange(is_asked_, true)) asked_.notify_one();
            return now;
        }
        if (awaited == 0) {
            wanted_ = awaited = begun_ + 1;
            asked_.notify_one();
        }
        made_.wait_for(alone, look_again, [&] { return done_ != done; });
        if (done_ < awaited) continue;
        if (failure_) std::rethrow_exception(failure_);
        return last_;
    }
}

/// Renews the former snapshot if nobody reads it, else takes a new one.
std::shared_ptr<snapshot> read_pool::renewer::next(std::shared_ptr<snapshot> former) const {
    if (!former || former.use_count() > 1) return take_();
    std::atomic_thread_fence(std::memory_order_acquire); // with who released it
    former->renew(how_.most_bytes);
    return former;
}

/// Rests as long as it worked, so that blocks that come at once do not keep a processor busy.
void read_pool::renewer::work() {
    std::unique_lock alone(mutex_);
    while (true) {
        asked_.wait(alone, [&] { return is_asked_ || wanted_ > begun_ || is_over_; });
        if (is_over_) return;
        is_asked_ = false;
        const std::uint64_t number = ++begun_;
        began_at_ = steady::now();
        std::shared_ptr<snapshot> former = std::move(former_);
        alone.unlock();
        wait_for_readers(former);
        const steady::time_point begin = steady::now();
        std::shared_ptr<snapshot> made;
        std::exception_ptr failure;
        try {
            made = next(std::move(former));
        } catch (...) {
            failure = std::current_exception();
        }
        alone.lock();
        const steady::duration took = steady::now() - begin;
        if (made) {
            took_ = took;
            former_ = std::exchange(last_, std::move(made));
            newest_at_ = begin;
            ++taken_;
        }
        failure_ = failure;
        done_ = number;
        made_.notify_all();
        const steady::duration most = how_.most_age;
        asked_.wait_for(alone, std::clamp(took, most / 2, 5 * most),
                        [&] { return wanted_ > begun_ || is_over_; });
    }
}

read_pool::read_pool(const database& of, const options& how)
    : renewer_(std::make_unique<renewer>([&of] { return std::make_unique<snapshot>(of); }, how)) {}

read_pool::read_pool(std::string state, std::function<void(snapshot&)> add_types,
                     const options& how)
    : renewer_(std::make_unique<renewer>(
          [state = std::move(state), add_types = std::move(add_types)] {
              auto made = std::make_unique<snapshot>(state);
              add_types(*made);
              return made;
          },
          how)) {}

/// A fork has no thread of it.
read_pool::~read_pool() {
    if (!renewer_->is_here()) leak(std::move(renewer_));
}

std::shared_ptr<const snapshot> read_pool::current() {
    return renewer_->current();
}

std::uint64_t read_pool::taken() const {
    return renewer_->taken();
}

} // namespace chainbase
