#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::bench {

/// Processes that run a shell command again and again, until the object goes.
class reader_crowd {
public:
    /// Throws error when a process cannot be made.
    reader_crowd(std::uint32_t readers, const std::string& command);
    reader_crowd(const reader_crowd&) = delete;
    reader_crowd& operator=(const reader_crowd&) = delete;
    ~reader_crowd();

private:
    void end() noexcept;

    std::vector<pid_t> groups_;
};

} // namespace chainbase::bench
