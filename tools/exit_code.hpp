#pragma once

namespace chainbase {

/// How every tool of chainbase ends.
enum class exit_code : int {
    done = 0,
    failed = 1,      ///< the work failed; stderr says why and what to do
    wrong_call = 2,  ///< the command line is wrong, or names what does not fit together
    interrupted = 3, ///< stopped by a signal; the same call goes on
    damaged = 4,     ///< what was to be checked was, and is not sound; the report says what
    different = 5,   ///< what was to be compared was, and is not the same; the report says where
    moved = 6,       ///< what was looked at changed all the time; nothing can be said of it
};

} // namespace chainbase
