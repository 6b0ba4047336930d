#pragma once

#include <pool_allocator/trace/trace.hpp>
#include <pool_allocator/trace/trace_histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What was measured: the numbers of all places at one moment, and single spans as they end.
namespace chainbase::trace {

/// What was counted at a site by all threads. Times of a sampled one are estimates, but for
/// `longest_ns`, which is the longest of those measured; a span of it that is not measured counts
/// as one that ended from its begin on.
struct span_reading {
    std::string name;
    kind how = kind::timed;
    std::uint64_t count = 0;     ///< spans that ended
    std::uint64_t in_flight = 0; ///< spans that have not
    /// The begin of the oldest of these, as `at_ns` below; nothing if it is not measured.
    std::optional<std::uint64_t> in_flight_since_ns;
    std::uint64_t measured = 0; ///< of `count`
    std::uint64_t total_ns = 0;
    std::uint64_t own_ns = 0;
    std::uint64_t longest_ns = 0;
    histogram
        times; ///< of a sampled site every measured span as often as the entries it stands for
};

struct counter_reading {
    std::string name;
    std::uint64_t value = 0;
};

struct gauge_reading {
    std::string name;
    label which; ///< empty: it has none
    double value = 0;
};

/// Everything at about one moment: numbers that are being counted may miss each other's last step.
struct reading {
    std::uint64_t at_ns = 0; ///< nanoseconds since tracing was first used in the process
    std::vector<span_reading> spans;
    std::vector<counter_reading> counters;
    std::vector<gauge_reading> gauges; ///< those that were set
};

[[nodiscard]] reading snapshot();

/// One span that ended.
struct event {
    std::uint32_t site = 0; ///< index in `reading::spans`
    std::uint64_t begin_ns = 0;
    std::uint64_t duration_ns = 0;
};

/// While it lives every span of a timed site, on any thread, is kept until it is taken: in a ring
/// of a fixed size for each thread. What finds its ring full is dropped and counted; nobody waits.
/// One at a time in a process, used by one thread.
class recording {
public:
    struct of_thread {
        std::int64_t thread = 0; ///< the kernel's number
        std::string name;
        std::vector<event> events;
        /// Since they were last taken; the last thread told has those of threads not told, too.
        std::uint64_t dropped = 0;
    };

    /// With room for so many events of each thread, rounded up to a power of two. Throws
    /// usage_error while there is another.
    explicit recording(std::size_t events_per_thread);
    ~recording();
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    /// What came since the last call, threads that ended included.
    [[nodiscard]] std::vector<of_thread> take();
};

} // namespace chainbase::trace
