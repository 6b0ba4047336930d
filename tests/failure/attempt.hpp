#pragma once

#include <functional>
#include <string>

namespace chainbase::test {

/// Whether something failed with one of the engine's exceptions, or worked.
enum class verdict { works, refused };

struct attempt {
    verdict result = verdict::works;
    std::string said; ///< what the exception said
};

/// Runs `work` in a process of its own, so that a signal, or a loop, is a failure and not the end
/// of the test. Throws mismatch when it ends with a signal or with another exception.
[[nodiscard]] attempt attempt_apart(const std::function<void()>& work);

} // namespace chainbase::test
