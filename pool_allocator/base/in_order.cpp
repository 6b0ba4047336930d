#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/in_order.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace chainbase {

namespace {

class pipeline {
public:
    pipeline(std::size_t count, std::size_t ahead, const std::function<void(std::size_t)>& make)
        : ahead_(ahead), make_(make), is_made_(count) {}
    ~pipeline() {
        end({});
        for (std::thread& one : threads_)
            one.join();
    }
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    void start_thread() {
        threads_.push_back(background_thread("pieces", [this] { work(); }));
    }

    /// Waits until the next one is made, and returns its number.
    std::size_t next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failure_ || is_made_[taken_]; });
        if (failure_) std::rethrow_exception(failure_);
        changed_.notify_all();
        return taken_++;
    }

private:
    void work() noexcept {
        try {
            for (std::unique_lock lock(mutex_); waits_for_one(lock);) {
                const std::size_t number = begun_++;
                lock.unlock();
                make_(number);
                lock.lock();
                is_made_[number] = true;
                changed_.notify_all();
            }
        } catch (...) {
            end(std::current_exception());
        }
    }
    /// Whether another one is to be made.
    bool waits_for_one(std::unique_lock<std::mutex>& lock) {
        const auto is_over = [&] { return is_ended_ || begun_ == is_made_.size(); };
        changed_.wait(lock, [&] { return is_over() || begun_ < taken_ + ahead_; });
        return !is_over();
    }
    void end(const std::exception_ptr& failure) noexcept {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = failure;
        is_ended_ = true;
        changed_.notify_all();
    }

    const std::size_t ahead_;
    const std::function<void(std::size_t)>& make_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<bool> is_made_;
    std::size_t begun_ = 0;
    std::size_t taken_ = 0;
    bool is_ended_ = false;
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
    for (std::size_t number = 0; number < count; ++number)
        take(all.next());
}

} // namespace chainbase
