#pragma once

#include <undo/undo_log.hpp>

#include <cstdint>

namespace chainbase {

/// A sample of a log taken without the lock while its writer works: its words, and what they refer
/// to, as of about one moment. Callers compare log_words::sequence before and after.
///
/// Reads the file and not the mapping: the writer may shorten the log between reading its words and
/// what they refer to, and touching a mapped page behind the end of the file kills the process.
class log_sample : undo_log_view {
public:
    explicit log_sample(const window& file);

    /// Whether everything that the words refer to was in the file. If not, the rest has no meaning:
    /// the log became shorter meanwhile, is longer than the window knows, or is damaged.
    [[nodiscard]] bool is_readable() const noexcept { return is_readable_; }
    [[nodiscard]] std::uint64_t changes() const noexcept { return words_.sequence / 2; }
    [[nodiscard]] std::uint64_t sessions() const noexcept;
    [[nodiscard]] revision_number revision() const noexcept;
    /// The newest revision that cannot be undone.
    [[nodiscard]] revision_number committed_revision() const noexcept;
    /// How the file's bytes are used: `values` are those between the oldest session and the tail,
    /// slots are chunks.
    [[nodiscard]] usage measure() const noexcept;

private:
    template <typename T>
    [[nodiscard]] T read(log_position at);
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept;

    const window& file_;
    log_words words_;
    bool is_readable_ = true;
    session_mark oldest_{}; ///< like the two below: valid only if there is a session
    session_mark newest_{};
    std::uint64_t first_chunk_ = 0; ///< the sequence of the oldest session's
    std::uint64_t last_chunk_ = 0;  ///< the tail's
};

} // namespace chainbase
