#pragma once

#include <cstdint>

namespace chainbase {

class address_space;
class window;
class write_barrier;
class root_block;
class pool;
class id_table;
class hash_table;
class btree;
class size_classes;
struct pool_state;
struct window_header;

/// The number of a slot within its pool. Slot 0 is never handed out to a caller as an object: it
/// is the pool's own (the header node of a container), so 0 means "none" in links and tables.
using slot_number = std::uint32_t;

} // namespace chainbase
