#pragma once

#include <tools/sink/table/table.hpp>

#include <cstdint>

namespace chainbase::sink {

/// The shard, of `shards`, that has a row whose distribution column has this value: the remainder
/// of the hash partition that PostgreSQL 15 would put it into, so that a coordinator whose tables
/// are partitioned by that column looks only where the row can be (satisfies_hash_partition).
/// Requires an integer of up to 63 bits or a text. Thread-safe.
[[nodiscard]] std::uint32_t shard_of(const value& of, std::uint32_t shards);

/// Whether a column can be distributed by: not null, an integer up to 63 bits, or a text.
[[nodiscard]] bool can_distribute(const column& by);

} // namespace chainbase::sink
