#pragma once

#include <string>

namespace chainbase {

/// The kernel's boot id, a UUID of 36 characters that changes with each start of the machine.
/// Throws io_error.
[[nodiscard]] std::string boot_id();

} // namespace chainbase
