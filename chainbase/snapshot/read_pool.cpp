#include <chainbase/snapshot/read_pool.hpp>

#include <algorithm>

namespace chainbase {

read_pool::read_pool(const database& of, const options& how)
    : take_([&of] { return std::make_unique<snapshot>(of); }), how_(how),
      worker_([this] { work(); }) {}

read_pool::read_pool(std::string state, std::function<void(snapshot&)> add_types,
                     const options& how)
    : take_([state = std::move(state), add_types = std::move(add_types)] {
          auto made = std::make_unique<snapshot>(state);
          add_types(*made);
          return made;
      }),
      how_(how), worker_([this] { work(); }) {}

read_pool::~read_pool() {
    {
        const std::lock_guard alone(mutex_);
        is_over_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

std::uint64_t read_pool::taken() const {
    const std::lock_guard alone(mutex_);
    return taken_;
}

auto read_pool::most_age() const noexcept -> clock::duration {
    const clock::duration most = how_.most_age;
    return std::clamp(4 * took_.load(std::memory_order_relaxed), most, 10 * most);
}

std::shared_ptr<const snapshot> read_pool::current() {
    const clock::time_point begin = clock::now();
    std::unique_lock alone(mutex_);
    std::shared_ptr<snapshot> now = last_;
    alone.unlock();
    const bool is_newest = now && now->is_newest();
    if (is_newest) newest_at_.store(begin, std::memory_order_relaxed);
    if (is_newest && now->costs().bytes <= how_.most_bytes) return now;
    const bool may_be_read =
        is_newest || (now && !now->is_too_old() && begin - newest_at_.load() < most_age());
    alone.lock();
    is_asked_ = true;
    const std::uint64_t next = begun_ + 1;
    waiting_ += may_be_read ? 0 : 1;
    changed_.notify_all();
    if (may_be_read) return now;
    changed_.wait(alone, [&] { return done_ >= next; });
    --waiting_;
    if (failure_) std::rethrow_exception(failure_);
    return last_;
}

/// Once nobody reads the former one, it is the next one.
std::shared_ptr<snapshot> read_pool::next(std::shared_ptr<snapshot> former) const {
    if (!former || former.use_count() > 1) return take_();
    std::atomic_thread_fence(std::memory_order_acquire); // with who released it
    former->renew(how_.most_bytes);
    return former;
}

/// Rests as long as it worked, so that blocks that come at once do not keep a processor busy.
void read_pool::work() {
    std::unique_lock alone(mutex_);
    while (true) {
        changed_.wait(alone, [&] { return is_asked_ || is_over_; });
        if (is_over_) return;
        is_asked_ = false;
        const std::uint64_t number = ++begun_;
        std::shared_ptr<snapshot> former = std::move(former_);
        alone.unlock();
        const clock::time_point begin = clock::now();
        std::shared_ptr<snapshot> made;
        std::exception_ptr failure;
        try {
            made = next(std::move(former));
        } catch (...) {
            failure = std::current_exception();
        }
        const clock::duration took = clock::now() - begin;
        alone.lock();
        took_ = took;
        if (made) {
            former_ = std::exchange(last_, std::move(made));
            newest_at_ = begin;
            ++taken_;
        }
        failure_ = failure;
        done_ = number;
        changed_.notify_all();
        const clock::duration most = how_.most_age;
        const clock::duration rest = std::clamp(took, most / 2, 5 * most);
        changed_.wait_for(alone, rest, [&] { return waiting_ > 0 || is_over_; });
    }
}

} // namespace chainbase
