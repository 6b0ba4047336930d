#pragma once

#include <cstdint>

namespace chainbase {

class undo_log;
class operation;
class session;
class session_changes;

/// The number of a state: +1 for every session started, -1 for every session undone or squashed.
using revision_number = std::int64_t;

/// An offset in the window of the log; 0 means none.
using log_position = std::uint64_t;

} // namespace chainbase
