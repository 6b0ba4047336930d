#pragma once

#include <pool_allocator/pool.hpp>

#include <cstdint>

namespace chainbase::detail {

/// The words that begin every type's root block, whatever its container.
struct root_prefix {
    pool_state pool;
    std::uint32_t next_id;
    // hash_state tables[]
};

} // namespace chainbase::detail
