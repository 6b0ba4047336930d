#pragma once

#include <cstdint>

/// Allocations of this thread until the one that fails; negative: none does.
extern thread_local std::int64_t allocations_left;
