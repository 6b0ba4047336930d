#pragma once

namespace chainbase {

/// The exit codes of all chainbase tools.
enum class exit_code : int {
    done = 0,
    failed = 1,      ///< the work failed; stderr says why and what to do
    wrong_call = 2,  ///< the command line is wrong, or its arguments do not fit together
    interrupted = 3, ///< stopped by a signal; the same call continues
    damaged = 4,     ///< a check found damage; the report says what
    different = 5,   ///< a comparison found differences; the report says where
    moved = 6,       ///< the state changed during every attempt to read it; no result
};

} // namespace chainbase
