#pragma once

#include <string>

namespace chainbase::test {

/// What a run of chainbase-inspect gave.
struct outcome {
    int code = -1;
    std::string output; ///< stdout; stderr is the caller's unless the arguments redirect it
};

/// Runs chainbase-inspect through the shell.
[[nodiscard]] outcome inspect_with(const std::string& arguments);

} // namespace chainbase::test
