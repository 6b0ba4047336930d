#pragma once

#include <undo/undo_log.hpp>

#include <string>
#include <vector>

namespace chainbase {

/// Checks whether a log can be rolled back, before anything is: that positions lie in chunks in
/// use, that the chains of chunks and of marks are consistent, and that every record that recovery
/// copies back has its place in a mapped file. Without it, a flipped bit in a position or a trailer
/// would make recovery write anywhere, or kill the process.
///
/// Only reads. Takes time proportional to the chunks and marks of the log and to the bytes that
/// recovery copies back; records of pushed sessions are walked by require_all_records() only.
class log_check : private undo_log_view {
public:
    /// `file` is the log's window; all other windows must be mapped.
    log_check(const address_space& addresses, const window& file) noexcept
        : undo_log_view(file), addresses_(addresses), file_(file) {}

    /// Throws damaged_error naming the file and the offset.
    void require_sound();
    /// Checks every record that can be undone, and that each session consists of complete ones, in
    /// time proportional to the log. Requires that require_sound() did not throw. Returns how many
    /// there are.
    std::uint64_t require_all_records() const;

private:
    [[noreturn]] void damaged(log_position at, const std::string& what) const;
    void check_position(log_position at, log_position word, const char* name) const;
    void check_words() const;
    void check_chunks();
    void check_linked(log_position at) const;
    [[nodiscard]] session_mark checked_mark(log_position at) const;
    [[nodiscard]] log_position check_marks() const;
    std::uint64_t check_records(log_position from, log_position until) const;
    [[nodiscard]] log_position check_record(log_position at, log_position stop) const;
    void check_target(log_position at, record_trailer trailer) const;

    const address_space& addresses_;
    const window& file_;
    std::vector<bool> linked_; ///< by chunk
};

} // namespace chainbase
