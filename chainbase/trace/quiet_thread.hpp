#pragma once

#include <functional>
#include <thread>

namespace chainbase::trace {

/// Starts a thread beside those that do the work: with a name of up to 15 characters, and without
/// signals, which are for the others.
[[nodiscard]] std::thread quiet_thread(const char* name, std::function<void()> work);

} // namespace chainbase::trace
