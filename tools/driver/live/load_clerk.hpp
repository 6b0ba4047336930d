#pragma once

#include <tools/driver/live/live_node.hpp>
#include <tools/driver/live/load_steps.hpp>
#include <tools/driver/live/readers.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace chainbase::driver::live {

/// A second of a measurement, or what is left of one when a rate ends.
struct load_second {
    double begin = 0;  ///< in seconds since the measurement began
    double length = 1; ///< in seconds: the last one of a rate is shorter
    double rate = 0;   ///< what was to be offered
    std::uint64_t offered = 0;
    std::uint64_t completed = 0;
    std::uint64_t pending = 0; ///< at its end
    latencies transactions;    ///< of those completed in it
    latencies blocks;
    latencies readers;
    std::uint64_t resident_bytes = 0; ///< of the process
    std::uint64_t shared_bytes = 0;   ///< of that, files that are mapped: the state above all
};

/// Keeps the books of a measurement in a thread of its own, away from the thread that applies.
class load_clerk {
public:
    load_clerk(readers& asking, load_criterion criterion);
    ~load_clerk();
    load_clerk(const load_clerk&) = delete;
    load_clerk& operator=(const load_clerk&) = delete;

    /// @name For the thread that applies
    /// @{
    void begin_step(double rate);
    /// A block that was due at `due` and done at `done`.
    void note(made_block made, clock::time_point due, clock::time_point done);
    void note_pending(std::size_t transactions) noexcept { pending_ = transactions; }
    /// What was noted since begin_step(), the latest block too; without what only the other side
    /// knows.
    [[nodiscard]] load_step end_step();
    /// All seconds so far.
    [[nodiscard]] std::vector<load_second> seconds() const;
    /// @}

    /// What load_generator counts in.
    [[nodiscard]] std::atomic<std::uint64_t>& offered() noexcept { return offered_; }

private:
    struct block_note {
        std::vector<pending_list::entry> included;
        clock::time_point due;
        clock::time_point done;
        std::uint64_t rejected;
    };

    void work();
    void enter(const std::vector<block_note>& notes, std::unique_lock<std::mutex>& lock);
    void end_second();

    readers& asking_;
    load_criterion criterion_;
    std::atomic<std::uint64_t> offered_{0};
    std::atomic<std::uint64_t> pending_{0};

    mutable std::mutex mutex_; ///< of all that follows
    std::condition_variable wake_;
    std::condition_variable entered_;
    std::vector<block_note> notes_;
    bool entering_ = false;
    bool stopping_ = false;
    load_step step_;
    std::uint64_t offered_before_step_ = 0;
    load_second second_; ///< under way
    std::uint64_t offered_before_second_ = 0;
    std::vector<load_second> seconds_;
    clock::time_point begin_ = clock::now();
    clock::time_point second_began_ = begin_;
    clock::time_point second_ends_ = begin_ + std::chrono::seconds(1);
    std::thread thread_;
};

} // namespace chainbase::driver::live
