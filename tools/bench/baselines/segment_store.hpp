#pragma once

#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/mapped_segment.hpp>

namespace chainbase::bench {

/// A segment as a base class, so that it exists before the tables that live in it.
struct segment_holder {
    explicit segment_holder(const store_options& options) : segment(options) {}
    mapped_segment segment;
};

/// A container of accounts in a mapped segment with the given allocator, without undo.
template <typename Container>
class segment_store : private segment_holder, public account_table<Container> {
public:
    explicit segment_store(const store_options& options)
        : segment_holder(options), account_table<Container>(segment.make<Container>(
                                       typename Container::allocator_type(segment.get()))) {}

    [[nodiscard]] std::uint64_t held_bytes() const { return segment.used_bytes(); }
};

} // namespace chainbase::bench
