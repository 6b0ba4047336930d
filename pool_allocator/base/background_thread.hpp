#pragma once

#include <functional>
#include <thread>

namespace chainbase {

/// Starts a background thread with a name of up to 15 characters and all signals blocked, so that
/// other threads handle them. Throws limit_error when the limit of threads is reached, or there is
/// no memory for its stack.
[[nodiscard]] std::thread background_thread(const char* name, std::function<void()> work);

} // namespace chainbase
