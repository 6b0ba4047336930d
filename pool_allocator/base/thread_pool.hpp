#pragma once

#include <pool_allocator/base/process_of_origin.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace chainbase {

/// Threads that share a batch of work with the calling thread.
class thread_pool {
public:
    /// With fewer threads if the system allows no more. Throws limit_error when it allows none.
    explicit thread_pool(unsigned threads);
    ~thread_pool();
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    /// Calls work(0) to work(count - 1), each once, in these threads and the caller's, and returns
    /// when all are done. Throws what the first of them that failed threw, and std::bad_alloc; then
    /// all threads have stopped, and some parts may not be done. For one caller at a time.
    void run(std::size_t count, const std::function<void(std::size_t)>& work);

private:
    process_of_origin origin_;
    struct workers;
    std::unique_ptr<workers> pool_;
};

} // namespace chainbase
