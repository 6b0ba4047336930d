#pragma once

#include <chainbase/snapshot/read_pool.hpp>
#include <tools/chains/chains.hpp>
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

/// Threads that query a node as API users do, each query in a snapshot, while another thread
/// writes. Latency counts from the query's due time, even when the one before was late: users do
/// not wait until the node has time.
class readers {
public:
    struct options {
        unsigned threads = 0;
        double questions_per_second = 1000; ///< per thread; 0: without pauses
    };

    readers(chain_state& state, const options& how);
    /// As stop(), but drops errors.
    ~readers();
    readers(const readers&) = delete;
    readers& operator=(const readers&) = delete;

    /// Latencies of all threads since the last call.
    [[nodiscard]] latencies take();
    /// Throws a query's error, if any.
    void require_fine();
    /// Ends the threads. Throws a query's error.
    void stop();

private:
    struct reader {
        std::mutex mutex;
        latencies seen; ///< protected by the mutex
        std::exception_ptr failure;
        std::thread thread;
    };

    void ask(reader& own, unsigned number);

    answerer answer_;
    read_pool pool_;
    options how_;
    std::atomic<bool> stopping_{false};
    std::vector<std::unique_ptr<reader>> readers_;
};

} // namespace chainbase::driver::live
