#include <chainbase/trace/quiet_thread.hpp>
#include <tools/inspect/rows/ordered_chunks.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

namespace chainbase::inspect {

namespace {

class pipeline {
public:
    pipeline(std::size_t count, std::size_t ahead, const std::function<void(std::size_t)>& make)
        : count_(count), ahead_(ahead), make_(make) {}
    ~pipeline() {
        stop();
        for (std::thread& one : threads_)
            one.join();
    }
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    void start_thread() {
        threads_.push_back(trace::quiet_thread("digest", [this] { work(); }));
    }

    /// Waits until the next one is made, and returns its number.
    std::size_t next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failure_ || made_.contains(taken_); });
        if (failure_) std::rethrow_exception(failure_);
        made_.erase(taken_);
        const std::size_t number = taken_++;
        lock.unlock();
        changed_.notify_all();
        return number;
    }

private:
    void work() noexcept {
        try {
            while (const auto number = claim()) {
                make_(*number);
                const std::lock_guard lock(mutex_);
                made_.insert(*number);
                changed_.notify_all();
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            is_stopped_ = true;
            changed_.notify_all();
        }
    }
    std::optional<std::size_t> claim() {
        std::unique_lock lock(mutex_);
        changed_.wait(
            lock, [&] { return is_stopped_ || claimed_ == count_ || claimed_ < taken_ + ahead_; });
        if (is_stopped_ || claimed_ == count_) return std::nullopt;
        return claimed_++;
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
        changed_.notify_all();
    }

    const std::size_t count_;
    const std::size_t ahead_;
    const std::function<void(std::size_t)>& make_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::size_t> made_; ///< and not taken yet
    std::size_t claimed_ = 0;
    std::size_t taken_ = 0;
    bool is_stopped_ = false;
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

} // namespace

void in_order(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& make,
              const std::function<void(std::size_t)>& take) {
    if (count == 0) return;
    constexpr std::size_t ahead_each = 4;
    const std::size_t useful = std::clamp<std::size_t>(threads, 1, count);
    pipeline all(count, ahead_each * useful, make);
    for (std::size_t i = 0; i < useful; ++i)
        all.start_thread();
    for (std::size_t piece = 0; piece < count; ++piece)
        take(all.next());
}

} // namespace chainbase::inspect
