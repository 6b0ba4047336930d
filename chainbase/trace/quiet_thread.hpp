#pragma once

#include <functional>
#include <thread>

namespace chainbase::trace {

/// Starts a thread beside those that do the work: with a name of up to 15 characters, and without
/// signals, which are for the others. Throws limit_error when there may be no more threads, or no
/// memory for its stack.
[[nodiscard]] std::thread quiet_thread(const char* name, std::function<void()> work);

} // namespace chainbase::trace
