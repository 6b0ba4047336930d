#pragma once

#include <tools/driver/chain_state.hpp>
#include <tools/driver/live/latencies.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace chainbase::driver::live {

/// Threads that ask a node what its API is asked, each question under the read lock, while another
/// thread writes. A question counts from when it was due, also if the one before took too long: who
/// asks does not wait until the node has time for it.
class readers {
public:
    struct options {
        unsigned threads = 0;
        double questions_per_second = 1000; ///< of each thread; 0: without thinking in between
    };

    readers(chain_state& state, const options& how);
    /// As stop(), but what went wrong is not told.
    ~readers();
    readers(const readers&) = delete;
    readers& operator=(const readers&) = delete;

    /// Latencies since the last call, of all threads.
    [[nodiscard]] latencies take();
    /// Throws what asking threw, if it has.
    void require_fine();
    /// Ends the threads. Throws what asking threw.
    void stop();

private:
    struct reader {
        std::mutex mutex;
        latencies seen; ///< under the mutex
        std::exception_ptr failure;
        std::thread thread;
    };

    void ask(reader& own, unsigned number);

    chain_state& state_;
    options how_;
    std::atomic<bool> stopping_{false};
    std::vector<std::unique_ptr<reader>> readers_;
};

} // namespace chainbase::driver::live
