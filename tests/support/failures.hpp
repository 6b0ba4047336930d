#pragma once

#ifndef CHAINBASE_FAULT_INJECTION
#error "failures are injected into the _faulty libraries only"
#endif

#include <pool_allocator/fault_injection.hpp>

#include <cstdint>

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

/// From now on the process kills itself (SIGKILL) at the n-th time (from 0) that it reaches `at`.
void kill_at_nth(fault::point at, std::uint64_t n);
/// Counts how often `at` is reached, from 0, until the next of these calls.
void count_points(fault::point at);
[[nodiscard]] std::uint64_t points_counted() noexcept;

} // namespace chainbase::test
