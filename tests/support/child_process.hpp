#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
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
/// Waits for it; throws mismatch when it ended otherwise.
ending wait_for(pid_t process);
/// Forks, and waits for the end; kills the process after `life` if that is not 0. RocksDB keeps
/// threads, which a fork loses, so a process must fork before it opens RocksDB.
ending run_process(const std::function<void()>& work, std::chrono::microseconds life = {});
/// Whether `work` succeeded in a child process. Prints its error on stderr.
[[nodiscard]] bool succeeds_in_child(const std::function<void()>& work);

/// A fresh T in memory that this process shares with those it forks.
template <typename T>
[[nodiscard]] std::shared_ptr<T> in_shared_memory() {
    void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return {new (at) T, [](T* shared) { munmap(shared, sizeof *shared); }};
}

/// What a process that may be killed reports, in memory shared with its parent.
struct progress {
    std::atomic<std::uint64_t> begun{0}; ///< steps
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> ready{0};
    std::atomic<std::uint64_t> inside{0};  ///< processes that have the state open for writing
    std::atomic<std::uint64_t> reached{0}; ///< arrivals at the watched point
    std::atomic<int> step{-1};             ///< the step of the last arrival
};

/// A fresh progress in shared memory.
[[nodiscard]] std::shared_ptr<progress> shared_progress();
/// Waits until a process told that it is ready. Throws mismatch when it ends before.
void wait_until_ready(pid_t process, const progress& told);

/// A process that does some work and then stays until it is killed, by the destructor at the
/// latest.
class staying_process {
public:
    /// Returns when the work is done: `work` runs in the process and must finally call its
    /// argument, which does not return. Throws mismatch when the process ends before.
    explicit staying_process(const std::function<void(const std::function<void()>& done)>& work);
    staying_process(const staying_process&) = delete;
    staying_process& operator=(const staying_process&) = delete;
    ~staying_process() { kill(); }

    [[nodiscard]] pid_t number() const noexcept { return number_; }
    void kill() noexcept;

private:
    pid_t number_ = 0;
};

/// Runs `work` in a process with its own mount table, in which `mount_all` mounted file systems.
/// Warns and skips the test where that is not allowed.
void run_with_mounts(const std::function<bool()>& mount_all, const std::function<void()>& work);

} // namespace chainbase::test
