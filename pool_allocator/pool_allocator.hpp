#pragma once

#include <pool_allocator/pool.hpp>

#include <boost/interprocess/offset_ptr.hpp>

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace chainbase {

/// Where the parts of a node lie: [padding | list links | tree links | value].
///
/// Links lie directly before the value, so that a search for a key near the start of the value
/// usually finds both in one cache line. `ListBytes` are links of hashed keys that are not unique,
/// `TreeBytes` those of ordered and ranked indexes.
template <std::size_t ValueBytes, std::size_t ValueAlign, std::size_t ListBytes,
          std::size_t TreeBytes>
struct node_layout {
    static constexpr std::size_t align = ValueAlign < 4 ? 4 : ValueAlign;
    static constexpr std::size_t link_bytes = ListBytes + TreeBytes;
    static constexpr std::size_t value_offset = (link_bytes + align - 1) / align * align;
    static constexpr std::size_t tree_offset = value_offset - TreeBytes;
    static constexpr std::size_t list_offset = tree_offset - ListBytes;
    static constexpr std::size_t tree_bytes = TreeBytes;
    static constexpr std::size_t node_bytes =
        (value_offset + ValueBytes + align - 1) / align * align;

    // The value is logged as one record, and so is the whole node of a reused slot.
    static_assert(record_trailer::fits(node_bytes),
                  "objects are limited to 256 KiB with their links: keep larger content in a "
                  "shared_bytes or shared_vector");
};

/// The allocator that Boost.MultiIndex uses: a cheap handle on a pool whose state lives in the
/// segment.
///
/// Two handles are equal exactly when they share a pool. `pointer` is an offset pointer, so that
/// the container can lie in shared memory; inside the nodes compact_links.hpp replaces it.
/// Allocation requires that the pool's slot and the log's room were reserved by the operation's
/// prologue.
template <typename T, typename Layout>
class pool_allocator {
public:
    using value_type = T;
    using layout = Layout;
    using pointer = boost::interprocess::offset_ptr<T>;
    using const_pointer = boost::interprocess::offset_ptr<const T>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using is_always_equal = std::false_type;
    template <typename U>
    struct rebind {
        using other = pool_allocator<U, Layout>;
    };

    explicit pool_allocator(pool_state* pool) noexcept : pool_(pool) {}
    template <typename U>
    pool_allocator(const pool_allocator<U, Layout>& other) noexcept : pool_(other.pool()) {}

    [[nodiscard]] pointer allocate([[maybe_unused]] size_type n) {
        assert(n == 1 && sizeof(T) <= Layout::node_bytes && "a pool hands out single nodes");
        return pointer(static_cast<T*>(pool_->take()));
    }
    void deallocate(pointer node, [[maybe_unused]] size_type n) noexcept {
        assert(n == 1);
        pool_->give(std::to_address(node));
    }

    /// Constructs an object by calling `make` with the raw place: the operation decides how.
    template <typename U, typename Maker>
        requires std::is_invocable_v<Maker&, void*>
    void construct(U* place, Maker& make) {
        make(static_cast<void*>(place));
    }
    /// Does nothing: the operation that removes an object frees what it owns, and its bytes must
    /// stay for undo.
    template <typename U>
    void destroy(U*) noexcept {}

    [[nodiscard]] pool_state* pool() const noexcept { return pool_.get(); }

    template <typename U>
    friend bool operator==(const pool_allocator& a, const pool_allocator<U, Layout>& b) noexcept {
        return a.pool() == b.pool();
    }

private:
    boost::interprocess::offset_ptr<pool_state> pool_;
};

template <typename Allocator>
inline constexpr bool is_pool_allocator = false;
template <typename T, typename Layout>
inline constexpr bool is_pool_allocator<pool_allocator<T, Layout>> = true;

} // namespace chainbase

// The allocator always comes with its node specialisations, so that all translation units agree on
// them.
#include <pool_allocator/compact_links.hpp>
