#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <new>

namespace chainbase::test {

/// How a child process ended.
struct ending {
    bool killed = false; ///< by SIGKILL; else it finished its work
};

/// Forks a process that runs `work` and then exits. Exceptions in it end it with an error.
[[nodiscard]] pid_t fork_process(const std::function<void()>& work);
/// Waits for it; throws mismatch when it ended in any other way than those of `ending`.
ending wait_for(pid_t process);
/// Forks, and waits for the end.
ending run_process(const std::function<void()>& work);

/// A fresh T in memory that this process shares with those it forks.
template <typename T>
[[nodiscard]] std::shared_ptr<T> in_shared_memory() {
    void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return {new (at) T, [](T* shared) { munmap(shared, sizeof *shared); }};
}

} // namespace chainbase::test
