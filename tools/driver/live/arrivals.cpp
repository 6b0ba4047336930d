#include <tools/driver/live/arrivals.hpp>

#include <iterator>

namespace chainbase::driver::live {

bool arrivals::push(parcel one) {
    const std::lock_guard lock(mutex_);
    if (one.count > most_ - waiting_) {
        refused_ += one.count;
        return false;
    }
    waiting_ += one.count;
    parcels_.push_back(std::move(one));
    if (is_waited_for_) arrived_.notify_one(); // else nobody pays for waking nobody
    return true;
}

void arrivals::take(std::vector<parcel>& into) {
    const std::lock_guard lock(mutex_);
    if (into.empty()) {
        into.swap(parcels_);
    } else {
        std::ranges::move(parcels_, std::back_inserter(into));
        parcels_.clear();
    }
    waiting_ = 0;
}

void arrivals::wait(clock::time_point until) {
    std::unique_lock lock(mutex_);
    is_waited_for_ = true;
    arrived_.wait_until(lock, until, [&] { return waiting_ != 0; });
    is_waited_for_ = false;
}

std::size_t arrivals::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
}

std::uint64_t arrivals::refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
}

} // namespace chainbase::driver::live
