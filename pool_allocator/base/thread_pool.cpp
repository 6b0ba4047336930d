#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase {

/// Not boost::asio::thread_pool, which waits for ever when only some of its threads can be started.
struct thread_pool::workers {
    explicit workers(unsigned count) {
        threads.reserve(count);
        try {
            while (threads.size() < count)
                threads.push_back(background_thread("pool", [this] { context.run(); }));
        } catch (const std::exception&) {
            if (threads.empty()) throw;
        }
    }
    ~workers() {
        stays.reset();
        for (std::thread& one : threads)
            one.join();
    }
    workers(const workers&) = delete;
    workers& operator=(const workers&) = delete;

    boost::asio::io_context context;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays{
        context.get_executor()};
    std::vector<std::thread> threads;
};

thread_pool::thread_pool(unsigned threads) : pool_(std::make_unique<workers>(threads)) {}

thread_pool::~thread_pool() {
    if (!origin_.is_here()) leak(std::move(pool_));
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
    const auto others = static_cast<std::ptrdiff_t>(std::min(pool_->threads.size(), count - 1));
    std::latch done(others);
    std::ptrdiff_t posted = 0;
    try {
        for (; posted < others; ++posted)
            boost::asio::post(pool_->context, [&] {
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
