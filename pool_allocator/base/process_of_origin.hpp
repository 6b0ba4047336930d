#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chainbase {

/// The process that made an object. A fork copies objects, but not the threads that they rely on,
/// and it shares files, locks and mapped memory with its parent. So an object that has any of these
/// does nothing in another process: its destructor is inert, its calls throw.
///
/// Costs a comparison with a word of the process, which fork() changes in the child; it makes no
/// system call. A process created by clone() without the C library is not distinguished from its
/// parent. Thread-safe.
class process_of_origin {
public:
    process_of_origin() noexcept;

    [[nodiscard]] bool is_here() const noexcept { return generation_ == generation_here_; }
    /// Throws usage_error naming `what` and both processes when they differ.
    void require_here(const std::string& what) const {
        if (!is_here()) [[unlikely]]
            throw_elsewhere(what);
    }

private:
    struct watch;

    [[noreturn]] void throw_elsewhere(const std::string& what) const;

    static std::uint32_t generation_here_; ///< how many forks led to this process
    std::uint32_t generation_;
    pid_t process_;
};

/// Keeps an object undestroyed for the rest of the process: in a fork, a member that can neither be
/// used nor destroyed there, such as a thread that does not exist.
template <typename T>
void leak(std::unique_ptr<T> what) {
    static auto& left = *new std::vector<T*>; // reachable, so that leak checkers stay silent
    if (what) left.push_back(what.release());
}

} // namespace chainbase
