#pragma once

#include <functional>

namespace chainbase::test {

/// Runs `work` in a process with a mount table of its own, in which `mount_all` mounted what the
/// test needs. Warns, and so skips the test, where that is not allowed.
void run_with_mounts(const std::function<bool()>& mount_all, const std::function<void()>& work);

} // namespace chainbase::test
