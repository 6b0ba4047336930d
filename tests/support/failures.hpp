#pragma once

#ifndef CHAINBASE_FAULT_INJECTION
#error "failures are injected into the _faulty libraries only"
#endif

#include <pool_allocator/fault_injection.hpp>

#include <tests/support/chain_model.hpp>
#include <tests/support/child_process.hpp>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <type_traits>

namespace chainbase::test {

/// What an injected failure throws: no type of the engine's, so nothing mistakes it for its own.
struct injected_failure {};

/// While it lives, the n-th time (from 0) that the engine is about to take a slot, a chunk or file
/// space, injected_failure is thrown instead. One at a time.
class fail_nth {
public:
    explicit fail_nth(std::uint64_t n);
    ~fail_nth();
    fail_nth(const fail_nth&) = delete;
    fail_nth& operator=(const fail_nth&) = delete;

    [[nodiscard]] static bool failed() noexcept;
    [[nodiscard]] static fault::point where() noexcept;
};

/// Where a process can be made to kill itself (SIGKILL): a point of the engine, or a step that one
/// of the archive's hooks is told.
class kill_point {
public:
    kill_point(fault::point at) : kill_point(fault::hook, at) {}
    /// At `only` one of the steps; without it, at any.
    template <typename Step>
    kill_point(void (*&hook)(Step), std::type_identity_t<std::optional<Step>> only = {})
        : arm_([&hook, only](std::uint64_t n, progress* told) {
              watch<Step>::only = only;
              watch<Step>::left = n;
              watch<Step>::told = told;
              hook = &watch<Step>::reached;
          }) {}

    /// From now on this process kills itself at the n-th time (from 0) that it comes to the point.
    /// `told`: how often it came there, and at which step it was last.
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

/// @name The kill harness: a process is killed at a point of its work; what it leaves is looked at
/// @{

/// What `work` of a trial is given.
struct doomed {
    std::function<void()> arm; ///< from this call on it counts how often the point is reached
    progress& told;            ///< which the parent sees
};

/// One state, made and worked on anew for each kill.
struct kill_trial {
    /// Makes what is there before; may be empty.
    std::function<void(const std::filesystem::path& state)> setup;
    /// In a process of its own: calls arm() and works.
    std::function<void(const std::filesystem::path& state, const doomed& self)> work;
    /// Looks at what the dead process left: throws, or asserts.
    std::function<void(const std::filesystem::path& state, const progress& told)> check;
    /// Setup and check in processes of their own, too: for what keeps threads.
    bool all_apart = false;
};

/// How often the trial reaches the point when nobody kills it.
[[nodiscard]] std::uint64_t points_of(const kill_point& at, const kill_trial& of);

/// Kills it at the n-th time (from 0) and checks. Nothing when it came to its end first; else the
/// step at which it died.
std::optional<int> kill_at(const kill_point& at, std::uint64_t n, const kill_trial& of);

/// Kills it at n = first, next(first), ... until it is not killed any more. Returns how often it
/// was. `seen` is told each kill's step.
std::uint64_t kill_at_each(
    const kill_point& at, const kill_trial& of, std::uint64_t first = 0,
    const std::function<std::uint64_t(std::uint64_t)>& next = [](auto n) { return n + 1; },
    const std::function<void(int)>& seen = {});

/// Kills it `tries` times, evenly spread over the `points` that it reaches, but for a few that come
/// up to `jitter` later. Each try must kill it.
void kill_all_along(const kill_point& at, const kill_trial& of, std::uint64_t points,
                    std::uint64_t tries, std::uint64_t jitter = 1);
/// @}

/// The trial of a chain model: steps from a new state on; what is left is the state after the last
/// step that was done, or the one under way.
[[nodiscard]] kill_trial chain_trial(reference_chain& reference, std::uint64_t steps);

/// How many steps of a chain, at least `least`, reach a point more than `wanted` times: how long
/// that takes depends on the seed.
[[nodiscard]] std::uint64_t steps_that_reach(const reference_chain& of, fault::point at,
                                             std::uint64_t wanted, std::uint64_t least);

} // namespace chainbase::test
