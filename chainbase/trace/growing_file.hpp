#pragma once

#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace chainbase::trace {

/// An append-only file of complete lines: a line that does not fit is not written partially. For
/// one thread.
class growing_file {
public:
    enum class existing {
        is_continued, ///< after its last complete line; a partial line left by a kill is cut off
        is_refused,   ///< with usage_error: it may be a foreign file
    };

    /// Opens `file`, or makes it. Throws io_error, out_of_space_error.
    growing_file(std::filesystem::path file, existing how);

    /// Appends `lines`, which end with a newline, or throws out_of_space_error or io_error and
    /// leaves the file unchanged.
    void append(std::string_view lines);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_; }

private:
    void cut_partial_line();

    std::filesystem::path file_;
    file_descriptor descriptor_;
    std::uint64_t bytes_ = 0;
};

/// A background_thread that calls a function at a fixed pace, and once more when it is destroyed.
/// The function must not throw.
class ticker {
public:
    /// `name` is the thread's, of up to 15 characters.
    ticker(const char* name, std::chrono::milliseconds pace, std::function<void()> tick);
    ~ticker();
    /// Whether its thread is in this process; else it must not be destroyed, but passed to leak().
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }
    ticker(const ticker&) = delete;
    ticker& operator=(const ticker&) = delete;

private:
    void run(std::chrono::milliseconds pace);

    process_of_origin origin_;
    std::function<void()> tick_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread thread_; ///< last member: it uses the others
};

} // namespace chainbase::trace
