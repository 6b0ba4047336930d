#pragma once

#include <tools/block_log/block_log_writer.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace chainbase {

/// A block log under a name of its own (`<path>.unfinished`) that gets its real name when it is
/// complete: who interrupts an import finds no half of a log. Not thread-safe.
class unfinished_log {
public:
    /// Throws usage_error when `path` exists; a leftover of an interrupted import is replaced.
    unfinished_log(std::filesystem::path path, std::string_view chain);
    unfinished_log(const unfinished_log&) = delete;
    unfinished_log& operator=(const unfinished_log&) = delete;
    /// Removes what did not become complete.
    ~unfinished_log();

    void append(const block& next) { writer_.append(next); }

    /// Completes the log and gives it its name, both on the device; returns its bytes. Throws
    /// usage_error when a file of that name appeared meanwhile; it stays as it is.
    std::uint64_t finish();

private:
    std::filesystem::path path_;
    std::filesystem::path temporary_;
    block_log_writer writer_;
};

} // namespace chainbase
