#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>

namespace chainbase::test {

/// Lowers a limit of this process (setrlimit) during its lifetime.
class lowered_limit {
public:
    lowered_limit(int which, rlim_t to) : which_(which) {
        ::getrlimit(which_, &before_);
        const rlimit lowered{to, before_.rlim_max};
        ::setrlimit(which_, &lowered);
    }
    lowered_limit(const lowered_limit&) = delete;
    lowered_limit& operator=(const lowered_limit&) = delete;
    ~lowered_limit() { ::setrlimit(which_, &before_); }

private:
    int which_;
    rlimit before_{};
};

/// Memory of this process in bytes: a line of /proc/self/status, 0 if there is none.
[[nodiscard]] inline rlim_t memory_now(const std::string& line) {
    std::ifstream in("/proc/self/status");
    rlim_t kibi = 0;
    for (std::string name; in >> name;)
        if (name == line + ":" && in >> kibi) break;
    return kibi << 10;
}

/// Limits the size of files during its lifetime: a write across the limit is short, the next one
/// fails, as on a full disk.
class file_size_limit {
public:
    explicit file_size_limit(std::uint64_t bytes)
        : handler_(std::signal(SIGXFSZ, SIG_IGN)), limit_(RLIMIT_FSIZE, bytes) {}
    file_size_limit(const file_size_limit&) = delete;
    file_size_limit& operator=(const file_size_limit&) = delete;
    ~file_size_limit() { std::signal(SIGXFSZ, handler_); }

private:
    void (*handler_)(int);
    lowered_limit limit_;
};

} // namespace chainbase::test
