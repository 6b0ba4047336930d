#include <pool_allocator/base/thread_pool.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <mutex>
#include <utility>

namespace chainbase {

struct thread_pool::workers {
    explicit workers(unsigned count) : pool(count) {}
    boost::asio::thread_pool pool;
};

thread_pool::thread_pool(unsigned threads)
    : count_(threads), pool_(std::make_unique<workers>(threads)) {}

thread_pool::~thread_pool() {
    if (origin_.is_here())
        pool_->pool.join();
    else
        leak(std::move(pool_));
}

void thread_pool::run(std::size_t count, const std::function<void(std::size_t)>& work) {
    if (count == 0) return;
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto take_part = [&] {
        try {
            for (std::size_t number = next++; number < count; number = next++)
                work(number);
        } catch (...) {
            next = count; // stops the other threads
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
        }
    };
    const auto others = static_cast<std::ptrdiff_t>(std::min<std::size_t>(count_, count - 1));
    std::latch done(others);
    std::ptrdiff_t posted = 0;
    try {
        for (; posted < others; ++posted)
            boost::asio::post(pool_->pool, [&] {
                take_part();
                done.count_down();
            });
    } catch (...) { // posted tasks use local variables: wait for them
        next = count;
        done.count_down(others - posted);
        done.wait();
        throw;
    }
    take_part();
    done.wait();
    if (failure) std::rethrow_exception(failure);
}

} // namespace chainbase
