#include <chainbase/snapshot/read_pool.hpp>

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
    return one.age() < how_.most_age || (one.is_newest() && one.costs().bytes <= how_.most_bytes);
}

std::shared_ptr<const snapshot> read_pool::last() const {
    const std::lock_guard alone(mutex_);
    return last_;
}

/// While one thread takes the next one, the others read the last one, if that can be read still.
std::shared_ptr<const snapshot> read_pool::current() {
    std::shared_ptr<const snapshot> now = last();
    if (now && is_fresh(*now)) return now;
    std::unique_lock taking(taking_, std::try_to_lock);
    if (!taking) {
        if (now && !now->is_too_old()) return now;
        taking.lock();
    }
    now = last();
    if (now && is_fresh(*now)) return now;
    now = take_();
    ++taken_;
    const std::lock_guard alone(mutex_);
    last_.swap(now);
    return last_;
}

} // namespace chainbase
