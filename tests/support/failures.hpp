#pragma once

#ifndef CHAINBASE_FAULT_INJECTION
#error "failures are injected into the _faulty libraries only"
#endif

#include <pool_allocator/base/fault_injection.hpp>

#include <tests/support/chain_model.hpp>
#include <tests/support/child_process.hpp>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <type_traits>

namespace chainbase::test {

/// The exception of an injected failure: no engine type, so that the engine cannot handle it as its
/// own.
struct injected_failure {};

/// Throws injected_failure in place of the n-th acquisition (from 0) of a slot, a chunk or file
/// space during its lifetime. One at a time.
class fail_nth {
public:
    explicit fail_nth(std::uint64_t n);
    ~fail_nth();
    fail_nth(const fail_nth&) = delete;
    fail_nth& operator=(const fail_nth&) = delete;

    [[nodiscard]] static bool failed() noexcept;
    [[nodiscard]] static fault::point where() noexcept;
};

/// A point where a process can kill itself (SIGKILL): a fault point of the engine, or a step of one
/// of the archive's hooks.
class kill_point {
public:
    kill_point(fault::point at) : kill_point(fault::hook, at) {}
    /// Only at this step; without it, at any.
    template <typename Step>
    kill_point(void (*&hook)(Step), std::type_identity_t<std::optional<Step>> only = {})
        : arm_([&hook, only](std::uint64_t n, progress* told) {
              watch<Step>::only = only;
              watch<Step>::left = n;
              watch<Step>::told = told;
              hook = &watch<Step>::reached;
          }) {}

    /// From now on this process kills itself at its n-th arrival (from 0) at the point. `told`
    /// records the arrivals and the last step.
    void arm(std::uint64_t n, progress* told = nullptr) const { arm_(n, told); }

private:
    template <typename Step>
    struct watch {
        static inline std::optional<Step> only;
        static inline std::uint64_t left = 0;
        static inline progress* told = nullptr;

        static void reached(Step at) {
            if (only && at != *only) return;
            if (told) {
                ++told->reached;
                told->step = static_cast<int>(at);
            }
            if (left-- == 0) std::raise(SIGKILL);
        }
    };

    std::function<void(std::uint64_t, progress*)> arm_;
};

/// @name The kill harness: kills a process at a point of its work and checks the resulting state
/// @{

/// The argument of a trial's `work`.
struct killed_process {
    std::function<void()> arm; ///< starts counting the arrivals at the point
    progress& told;            ///< shared with the parent
};

/// A trial: a state made and worked on anew for each kill.
struct kill_trial {
    /// Makes the initial state; may be empty.
    std::function<void(const std::filesystem::path& state)> setup;
    /// Runs in a child process: calls arm() and works.
    std::function<void(const std::filesystem::path& state, const killed_process& self)> work;
    /// Checks the state of the dead process: throws, or asserts.
    std::function<void(const std::filesystem::path& state, const progress& told)> check;
    /// Setup and check run in child processes, too: for code that keeps threads.
    bool in_children = false;
};

/// The number of arrivals at the point without a kill.
[[nodiscard]] std::uint64_t points_of(const kill_point& at, const kill_trial& of);

/// Kills at the n-th arrival (from 0) and checks. Returns the step at which it died; nothing when
/// it finished first.
std::optional<int> kill_at(const kill_point& at, std::uint64_t n, const kill_trial& of);

/// Kills at n = first, next(first), ... until the process finishes. Returns the number of kills.
/// Calls `seen` with each kill's step.
std::uint64_t kill_at_each(
    const kill_point& at, const kill_trial& of, std::uint64_t first = 0,
    const std::function<std::uint64_t(std::uint64_t)>& next = [](auto n) { return n + 1; },
    const std::function<void(int)>& seen = {});

/// Kills `tries` times, evenly spread over the `points` arrivals, some up to `jitter` later. Each
/// try must kill.
void kill_all_along(const kill_point& at, const kill_trial& of, std::uint64_t points,
                    std::uint64_t tries, std::uint64_t jitter = 1);
/// @}

/// The trial of a chain model: runs steps from a new state; the resulting state is after the last
/// completed step, or the current one.
[[nodiscard]] kill_trial chain_trial(reference_chain& reference, std::uint64_t steps);

/// The number of steps of a chain, at least `least`, that reach a point more than `wanted` times:
/// it depends on the seed.
[[nodiscard]] std::uint64_t steps_that_reach(const reference_chain& of, fault::point at,
                                             std::uint64_t wanted, std::uint64_t least);

} // namespace chainbase::test
