#pragma once

#include <tools/driver/live/latencies.hpp>
#include <tools/driver/live/live_node.hpp>
#include <tools/driver/live/readers.hpp>

#include <boost/describe/class.hpp>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::driver::live {

/// Rates, in transactions a second: the first, and how each follows from the previous one.
struct load_steps {
    double start = 100'000;
    double more = 0;    ///< added
    double factor = 1;  ///< after multiplying by this
    double last = 1e12; ///< highest rate tried

    /// The rate after a sustained one; nothing when that was the last, or would not rise.
    [[nodiscard]] std::optional<double> after(double rate) const noexcept;
};

/// The share of time in which a thread held a lock, and waited for it.
struct lock_shares {
    double acquisitions_per_second = 0;
    double held_share = 0;
    double waited_share = 0;
};
BOOST_DESCRIBE_STRUCT(lock_shares, (), (acquisitions_per_second, held_share, waited_share))

/// The result of one rate.
struct load_step {
    double rate = 0;
    double seconds = 0; ///< of sending
    std::uint64_t offered = 0;
    std::uint64_t completed = 0; ///< in an applied block
    std::uint64_t in_time = 0;
    std::uint64_t rejected = 0;
    latencies transactions; ///< completed ones, from due time to the end of the block
    latencies blocks;       ///< from due time to end
    latencies readers;      ///< of queries, from due time
    std::string failed;     ///< why the rate is not sustained; empty: it is
    lock_shares write_lock;
    std::uint64_t state_bytes = 0;

    [[nodiscard]] bool sustained() const noexcept { return failed.empty(); }
    [[nodiscard]] double completed_per_second() const noexcept {
        return std::round(per_second(completed, seconds));
    }
};
BOOST_DESCRIBE_STRUCT(load_step, (),
                      (rate, seconds, offered, completed, in_time, rejected, completed_per_second,
                       transactions, blocks, readers, write_lock, state_bytes, sustained, failed))

/// A rate is sustained when no block, counted from its due time, takes longer than the interval
/// between blocks, and at least half of the offered transactions are in a block within two
/// intervals.
struct load_criterion {
    nanoseconds interval;

    [[nodiscard]] nanoseconds in_time() const noexcept { return 2 * interval; }
    /// Why the rate is not sustained; empty when it is.
    [[nodiscard]] std::string judge(const load_step& step) const;
};

/// One second of a measurement, or the shorter rest of one when a rate ends.
struct load_second {
    double begin = 0;  ///< seconds since the measurement began
    double length = 1; ///< seconds: the last one of a rate is shorter
    double rate = 0;   ///< offered rate
    std::uint64_t offered = 0;
    std::uint64_t completed = 0;
    std::uint64_t pending = 0; ///< at its end
    latencies transactions;    ///< of those completed in it
    latencies blocks;
    latencies readers;
    std::uint64_t resident_bytes = 0; ///< of the process
    std::uint64_t shared_bytes = 0;   ///< of that, files that are mapped: the state above all
};

/// Appends what was measured next. A piece below a tenth of a second joins the piece of the same
/// rate before it: whole blocks complete in it, so its rate per second says nothing.
void append(std::vector<load_second>& to, load_second next);

/// Records a measurement in its own thread, to keep this work off the applying thread.
class load_recorder {
public:
    load_recorder(readers& asking, load_criterion criterion);
    ~load_recorder();
    load_recorder(const load_recorder&) = delete;
    load_recorder& operator=(const load_recorder&) = delete;

    /// @name For the applying thread
    /// @{
    void begin_step(double rate);
    /// Records a block due at `due` and done at `done`.
    void note(made_block made, clock::time_point due, clock::time_point done);
    void note_pending(std::size_t transactions) noexcept { pending_ = transactions; }
    /// Everything recorded since begin_step(), including the latest block, without the sender's
    /// figures.
    [[nodiscard]] load_step end_step();
    /// All seconds so far.
    [[nodiscard]] std::vector<load_second> seconds() const;
    /// @}

    /// Counter for load_generator.
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
