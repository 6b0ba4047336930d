#pragma once

#include <chainbase/trace/growing_file.hpp>
#include <pool_allocator/trace/trace_reading.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::trace {

struct perfetto_options {
    /// The file does not grow beyond: some 90 bytes a span.
    std::uint64_t most_bytes = std::uint64_t{1} << 30;
    /// Spans of one thread between two writes (100 ms); more are dropped.
    std::size_t spans_per_thread = std::size_t{1} << 16;
};

/// A file of Chrome trace events (JSON) that ui.perfetto.dev opens: every span of a timed site on
/// its thread's track; once a second the rate of every counter and sampled site, and every gauge,
/// on a track of its own. Written by a thread of its own, so nobody waits for it.
///
/// The format is an array that need not be closed, so the file is good up to the last line that was
/// written also after a kill. At `most_bytes`, or when the disk is full, it ends with a note
/// (if that still fits) and one warning; the program goes on.
///
/// Tracing must be on for anything to come. One at a time in a process.
class perfetto_file {
public:
    /// Makes `file`. Throws usage_error when it exists or another recording is under way, io_error,
    /// out_of_space_error.
    explicit perfetto_file(const std::filesystem::path& file, const perfetto_options& = {});
    /// Writes what is left and ends the array.
    ~perfetto_file();

    /// Spans that were not written because a ring was full.
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
    /// Whether it ended early.
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

private:
    void write_pending() noexcept;
    void add_events(std::string& text);
    void learn_names();
    void add_values(std::string& text);
    void add_value(std::string& text, const std::string& name, double value);
    void add_note(std::string& text, const std::string& name);
    void name_thread(std::string& text, std::int64_t thread, const std::string& name);
    void append(std::string text);
    void give_up(std::string_view why) noexcept;

    perfetto_options options_;
    growing_file file_;
    std::optional<recording> spans_;
    reading last_;
    std::vector<std::string> site_names_; ///< as JSON
    std::map<std::int64_t, std::string> thread_names_;
    std::chrono::steady_clock::time_point next_values_{};
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<bool> stopped_{false};
    std::unique_ptr<ticker> writer_;
};

} // namespace chainbase::trace
