#pragma once

/// The exceptions that calls throw; all of them derive from chainbase::error.
#include <pool_allocator/base/error.hpp>
