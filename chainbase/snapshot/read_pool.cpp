#include <chainbase/snapshot/read_pool.hpp>

#include <algorithm>

namespace chainbase {

read_pool::read_pool(const database& of, const options& how)
    : take_([&of] { return std::make_unique<snapshot>(of); }), how_(how) {}

read_pool::read_pool(std::string state, std::function<void(snapshot&)> add_types,
                     const options& how)
    : take_([state = std::move(state), add_types = std::move(add_types)] {
          auto made = std::make_unique<snapshot>(state);
          add_types(*made);
          return made;
      }),
      how_(how) {}

read_pool::~read_pool() = default;

bool read_pool::is_fresh(const snapshot& one) const {
    if (one.is_too_old()) return false;
    const std::chrono::nanoseconds rest(4 * took_.load(std::memory_order_relaxed));
    const std::chrono::nanoseconds most = how_.most_age;
    return one.age() < std::clamp(rest, most, 10 * most) ||
           (one.is_newest() && one.costs().bytes <= how_.most_bytes);
}

std::shared_ptr<snapshot> read_pool::last() const {
    const std::lock_guard alone(mutex_);
    return last_;
}

/// Once nobody reads the former one, it is the next one.
std::shared_ptr<snapshot> read_pool::next() {
    const auto begin = std::chrono::steady_clock::now();
    std::shared_ptr<snapshot> made = std::move(former_);
    if (made && made.use_count() == 1) {
        std::atomic_thread_fence(std::memory_order_acquire); // with who released it
        made->renew(how_.most_bytes);
    } else {
        made = take_();
    }
    took_ = (std::chrono::steady_clock::now() - begin).count();
    ++taken_;
    return made;
}

/// While one thread takes the next one, the others read the last one, if that can be read still.
std::shared_ptr<const snapshot> read_pool::current() {
    std::shared_ptr<snapshot> now = last();
    if (now && is_fresh(*now)) return now;
    std::unique_lock taking(taking_, std::try_to_lock);
    if (!taking) {
        if (now && !now->is_too_old()) return now;
        taking.lock();
    }
    now = last();
    if (now && is_fresh(*now)) return now;
    std::shared_ptr<snapshot> made = next();
    former_ = std::move(now);
    const std::lock_guard alone(mutex_);
    last_ = made;
    return made;
}

} // namespace chainbase
