#pragma once

#include <chainbase/offline/log_contents.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/address_space.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace chainbase::inspect {

/// The revision and size of a log, from its header words.
struct log_heading {
    revision_number revision = 0;
    revision_number irreversible_revision = 0;
    std::uint64_t sessions = 0;
    std::uint64_t bytes_in_use = 0; ///< from the oldest session to the tail
};

/// A copy of a segment's undo log at one moment, taken while another process writes it. Takes no
/// lock and changes no file. Not thread-safe.
///
/// The copy is a window, so every reader of logs can read it. The file itself is read by calls: a
/// compacting writer truncates it, and a mapped access beyond its end would kill the process.
class log_image {
public:
    using clock = std::chrono::steady_clock;

    /// Of the segment in `folder`. `is_written`: a writer lives and will complete unfinished
    /// changes. Throws access_error, damaged_error, io_error, limit_error.
    log_image(const std::filesystem::path& folder, const segment_header& header, bool is_written);

    /// The current heading; empty when the log changed meanwhile, or is damaged. Throws io_error,
    /// also when the file was truncated meanwhile.
    [[nodiscard]] std::optional<log_heading> heading();

    /// Copies the bytes in use, newest first, and returns whether nothing changed meanwhile: else
    /// the copy is useless. Begins no chunk after `until`. Throws as heading().
    [[nodiscard]] bool copy(clock::time_point until);
    /// The heading at the time of the copy, whatever the copy contains. All zero when its words are
    /// invalid.
    [[nodiscard]] const log_heading& copied() const noexcept { return copied_; }
    /// Whether the last copy has all sessions. If not, it begins with the oldest one that it has
    /// completely.
    [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
    /// Whether it has a complete session, or the log has none.
    [[nodiscard]] bool has_sessions() const noexcept { return has_sessions_; }

    [[nodiscard]] const window& file() const noexcept { return copy_; }
    [[nodiscard]] const address_space& addresses() const noexcept { return copy_addresses_; }

private:
    struct range {
        log_position begin;
        std::size_t bytes;
        std::size_t at; ///< in bytes_
    };

    using chunk = log_walk::chunk_header;

    template <typename T>
    [[nodiscard]] T read(log_position at) const;
    [[nodiscard]] std::uint64_t sequence() const {
        return read<std::uint64_t>(sizeof(window_header) + offsetof(log_words, sequence));
    }
    [[nodiscard]] log_words words() const;
    [[nodiscard]] bool is_unchanged(const log_words& since) const;
    [[nodiscard]] bool is_position(log_position at) const noexcept;
    [[nodiscard]] chunk chunk_at(log_position at) const;
    [[nodiscard]] std::optional<log_heading> read_heading(const log_words& words) const;
    [[nodiscard]] bool copy_chunks(const log_words& words, clock::time_point until);
    void keep(log_position begin, log_position end);
    void detach();
    void put_in_place(const log_words& words);
    [[nodiscard]] bool is_kept(log_position at) const noexcept;
    [[nodiscard]] log_position oldest_kept(const log_words& words) const noexcept;

    bool is_written_;
    address_space live_addresses_;
    window live_;
    address_space copy_addresses_;
    window copy_;
    std::vector<range> ranges_;
    std::vector<std::byte> bytes_;
    log_heading copied_;
    bool is_complete_ = false;
    bool has_sessions_ = false;
};

} // namespace chainbase::inspect
