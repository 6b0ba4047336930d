#include <tools/driver/live/load_generator.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace chainbase::driver::live {

load_generator::load_generator(workload& from, arrivals& to, double rate, clock::time_point begin,
                               clock::time_point end, std::atomic<std::uint64_t>& offered)
    : from_(from), to_(to), rate_(rate), begin_(begin), end_(end), offered_(offered) {
    thread_ = std::thread([this] {
        try {
            send();
        } catch (...) {
            failure_ = std::current_exception();
        }
    });
}

load_generator::~load_generator() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void load_generator::stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void load_generator::send() {
    std::uint64_t sent = 0;
    auto wake = begin_;
    while (!stopping_) {
        std::this_thread::sleep_until(wake);
        const auto now = std::min(clock::now(), end_);
        send_due(static_cast<std::uint64_t>(std::floor(seconds_of(now - begin_) * rate_)), sent);
        if (now == end_) return;
        wake = std::max(wake + std::chrono::milliseconds(1), now);
    }
}

void load_generator::send_due(std::uint64_t due, std::uint64_t& sent) {
    const nanoseconds apart(std::llround(1e9 / rate_));
    while (sent < due) {
        const std::uint64_t left = std::min<std::uint64_t>(due - sent, UINT32_MAX);
        parcel some = from_.take(static_cast<std::uint32_t>(left));
        some.due = begin_ + nanoseconds(std::llround(static_cast<double>(sent) * 1e9 / rate_));
        some.apart = apart;
        sent += some.count;
        offered_ += some.count;
        to_.push(std::move(some));
    }
}

} // namespace chainbase::driver::live
