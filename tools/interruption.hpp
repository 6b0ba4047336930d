#pragma once

#include <pool_allocator/base/error.hpp>

namespace chainbase {

/// The user ended the work before there was anything to report. An exception, so that unfinished
/// files are removed on the way out; a program it leaves ends with exit_code::interrupted.
class interrupted_error : public error {
public:
    using error::error;
};

/// While an object lives, SIGINT and SIGTERM are only recorded: the work stops at its next safe
/// point and leaves everything closed or removed. One object at a time.
class catch_interruption {
public:
    /// What later signals do.
    enum class further_signals {
        are_recorded,    ///< nothing more: the next safe point is near
        end_the_process, ///< the default action: for work that may take long
    };

    explicit catch_interruption(further_signals further = further_signals::are_recorded);
    ~catch_interruption();
    catch_interruption(const catch_interruption&) = delete;
    catch_interruption& operator=(const catch_interruption&) = delete;

    /// Whether a signal came since the last object was made.
    [[nodiscard]] static bool caught() noexcept;
};

} // namespace chainbase
