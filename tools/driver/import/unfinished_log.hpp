#pragma once

#include <pool_allocator/base/unfinished_name.hpp>
#include <tools/block_log/block_log_writer.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace chainbase {

/// A block log with a temporary name (`<path>.unfinished`); it gets its real name when complete, so
/// an interruption leaves no partial log. Not thread-safe.
class unfinished_log {
public:
    /// For logs to keep: highest compression, and batches, since the blocks are tiny.
    static constexpr block_log_options smallest{.level = 19, .batch_bytes = 256 << 10};

    /// Throws usage_error when `path` exists, locked_error when another call is making it; replaces
    /// the leftover of an interrupted call.
    unfinished_log(std::filesystem::path path, std::string_view chain,
                   block_log_options packing = smallest);
    unfinished_log(const unfinished_log&) = delete;
    unfinished_log& operator=(const unfinished_log&) = delete;
    /// Removes an incomplete log.
    ~unfinished_log();

    void append(const block& next) {
        writer_.append(next);
        note(next.number);
    }
    /// Appends another log's record in packed form.
    void append(log_record next) {
        const std::uint64_t number = next.first_number();
        writer_.append(std::move(next));
        note(number);
    }

    /// Blocks appended.
    [[nodiscard]] std::uint64_t count() const noexcept { return writer_.count(); }
    /// The numbers of the first and the last one; nothing when there is none.
    [[nodiscard]] std::optional<std::uint64_t> first_number() const noexcept { return first_; }
    [[nodiscard]] std::optional<std::uint64_t> head_number() const noexcept {
        return writer_.head_number();
    }

    /// Completes the log and renames it, all synced; returns its bytes. Throws usage_error when a
    /// file of that name appeared meanwhile, and leaves that file unchanged.
    std::uint64_t finish();

private:
    void note(std::uint64_t number) noexcept {
        if (!first_) first_ = number;
    }

    unfinished_name name_;
    block_log_writer writer_;
    std::optional<std::uint64_t> first_;
};

} // namespace chainbase
