#pragma once

#include <pool_allocator/error.hpp>

namespace chainbase {

/// The user ended the work before there was anything to report. Thrown, so that what is unfinished
/// goes on the way out; a program that it leaves ends with exit_code::interrupted.
class interrupted_error : public error {
public:
    using error::error;
};

/// While one of these lives, SIGINT and SIGTERM are only noted: the work stops at the next place
/// where it may, and leaves everything closed or removed. One at a time.
class catch_interruption {
public:
    /// What a signal does after the first.
    enum class further_signals {
        are_noted,       ///< nothing more: the next place to stop is near
        end_the_process, ///< as usual: for work that may go on for long
    };

    explicit catch_interruption(further_signals further = further_signals::are_noted);
    ~catch_interruption();
    catch_interruption(const catch_interruption&) = delete;
    catch_interruption& operator=(const catch_interruption&) = delete;

    /// Whether a signal was noted since one of these was made last.
    [[nodiscard]] static bool noted() noexcept;
};

} // namespace chainbase
