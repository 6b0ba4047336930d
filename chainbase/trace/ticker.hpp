#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace chainbase::trace {

/// A quiet_thread that calls a function at a fixed pace, and once more when it is destroyed. The
/// function must not throw.
class ticker {
public:
    /// `name` is the thread's, of up to 15 characters.
    ticker(const char* name, std::chrono::milliseconds pace, std::function<void()> tick);
    ~ticker();
    ticker(const ticker&) = delete;
    ticker& operator=(const ticker&) = delete;

private:
    void run(std::chrono::milliseconds pace);

    std::function<void()> tick_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread thread_; ///< the last one: it uses the others
};

} // namespace chainbase::trace
