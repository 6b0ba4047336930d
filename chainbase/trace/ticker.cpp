#include <chainbase/trace/quiet_thread.hpp>
#include <chainbase/trace/ticker.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::trace {

ticker::ticker(const char* name, std::chrono::milliseconds pace, std::function<void()> tick)
    : tick_(std::move(tick)), thread_(quiet_thread(name, [this, pace] { run(pace); })) {}

ticker::~ticker() {
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

void ticker::run(std::chrono::milliseconds pace) {
    auto next = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (bool last = false; !last;) {
        next = std::max(next + pace, std::chrono::steady_clock::now());
        last = ended_.wait_until(lock, next, [&] { return end_; });
        lock.unlock();
        tick_();
        lock.lock();
    }
}

} // namespace chainbase::trace
