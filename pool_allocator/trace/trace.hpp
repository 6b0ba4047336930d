#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// Where the time goes: named places that are counted and timed while tracing is on.
///
///     const trace::site applying("driver.apply");      // once, at namespace or function scope
///     const trace::counter operations("driver.operations");
///     ...
///     const trace::span timed(applying);
///     operations.add(block.operations.size());
///
/// What was measured is read through trace_reading.hpp.
///
/// Thread-safety: everything here may be called by any thread at any time.
///
/// Invariants:
///  1. Off, which is the default, a span or counter is one relaxed load and a branch not taken.
///  2. On, a thread writes only to cells of its own: no lock, no shared cache line, and memory is
///     allocated only when a thread comes to a place for the first time. If there is none, that
///     thread is not counted there.
///  3. Counts are exact, whatever ends: what a thread counted stays when it ends.
///  4. Own time is total time less that of the timed spans within, on the same thread; what sampled
///     ones took stays in it.
namespace chainbase::trace {

/// How a place is measured.
enum class kind : std::uint8_t {
    timed, ///< every time: 50 ns each
    /// For places entered millions of times a second: counts are exact, but beyond some 50,000
    /// times a second and thread only 1 in 64, at random distances, is timed, and stands for the
    /// others, of which each costs 1 ns.
    sampled,
};

namespace detail {

struct cell;
struct gauge_cell;
inline std::atomic<bool> on{false};

/// Entries of one thread at one place that are counted but not measured.
struct entry_count {
    std::atomic<std::uint64_t> passed{0}; ///< written by the thread, read by any
    std::uint64_t until = 0;              ///< at which the next entry is measured
};

/// The calling thread's counts by place number; null for places it never entered.
struct entry_counts {
    entry_count* const* first = nullptr;
    std::size_t size = 0;
};
inline constinit thread_local entry_counts own_entries;

/// Counts an entry unless it is to be measured. Returns whether it was counted.
inline bool pass(std::uint32_t place) noexcept {
    if (place >= own_entries.size) return false;
    entry_count* const here = own_entries.first[place];
    if (here == nullptr) return false;
    const std::uint64_t passed = here->passed.load(std::memory_order_relaxed);
    if (passed == here->until) return false;
    here->passed.store(passed + 1, std::memory_order_relaxed);
    return true;
}

} // namespace detail

/// Whether tracing is on.
[[nodiscard]] inline bool enabled() noexcept {
    return detail::on.load(std::memory_order_relaxed);
}
/// Turns tracing on or off for the whole process; counts are kept. A span in flight when it is
/// turned off still counts.
void enable(bool on);

/// A named place. Sites of the same name are one place, of the kind that was registered first.
/// Names are words of lower case, layer first: "undo.commit".
class site {
public:
    explicit site(const char* name, kind how = kind::timed);

private:
    friend class span;
    std::uint32_t number_;
};

/// The time from its construction to its destruction, counted at a site. Nests; to be destroyed in
/// reverse order by the thread that made it.
class span {
public:
    explicit span(const site& where) noexcept {
        if (enabled() && !detail::pass(where.number_)) [[unlikely]]
            begin(where.number_);
    }
    span(const span&) = delete;
    span& operator=(const span&) = delete;
    ~span() {
        if (cell_ != nullptr) [[unlikely]]
            end();
    }

private:
    [[gnu::cold]] void begin(std::uint32_t number) noexcept;
    [[gnu::cold]] void end() noexcept;

    detail::cell* cell_ = nullptr; ///< null if not measured
    // If measured:
    std::uint64_t weight_; ///< entries that this one stands for, itself included
    span* parent_;         ///< the measured span around it
    std::uint64_t start_;  ///< in ticks
    std::uint64_t within_; ///< ticks in the timed spans within
};

/// A number that only grows. Counters of the same name are one counter.
class counter {
public:
    explicit counter(const char* name);
    void add(std::uint64_t amount = 1) const noexcept {
        if (enabled()) [[unlikely]]
            count(number_, amount);
    }

private:
    [[gnu::cold]] static void count(std::uint32_t number, std::uint64_t amount) noexcept;
    std::uint32_t number_;
};

/// A name and a value that tell gauges of one name apart: {"type", "account"}.
using label = std::pair<std::string, std::string>;

/// The newest value of something, in the unit that its name ends with: "state.memory.bytes". Gauges
/// of the same name and label are one gauge.
class gauge {
public:
    explicit gauge(const std::string& name, label which = {});
    void set(double value) const noexcept {
        if (enabled()) [[unlikely]]
            store(value);
    }

private:
    [[gnu::cold]] void store(double value) const noexcept;
    detail::gauge_cell* cell_;
};

} // namespace chainbase::trace
