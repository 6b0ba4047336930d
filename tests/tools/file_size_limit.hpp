#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdint>

namespace chainbase::test {

/// Lets no file grow beyond `bytes` while the object lives: a write that crosses the limit is
/// short, the next one is refused, as on a full disk.
class file_size_limit {
public:
    explicit file_size_limit(std::uint64_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    file_size_limit(const file_size_limit&) = delete;
    file_size_limit& operator=(const file_size_limit&) = delete;
    ~file_size_limit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

} // namespace chainbase::test
