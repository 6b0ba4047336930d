#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/segment_store.hpp>

#include <boost/interprocess/allocators/adaptive_pool.hpp>
#include <boost/interprocess/allocators/node_allocator.hpp>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <new>

/// The container of accounts with foreign allocators, without undo.
namespace chainbase::bench {

namespace {

/// Bytes held by counting_allocator; for one thread.
std::uint64_t& heap_bytes_held() noexcept {
    static std::uint64_t bytes = 0;
    return bytes;
}

/// std::allocator with a count of the bytes taken: malloc's usable size plus the eight bytes that
/// glibc keeps before it.
template <typename T>
class counting_allocator {
public:
    using value_type = T;

    counting_allocator() = default;
    template <typename U>
    counting_allocator(const counting_allocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        void* memory = std::malloc(count * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        heap_bytes_held() += malloc_usable_size(memory) + sizeof(std::size_t);
        return static_cast<T*>(memory);
    }

    void deallocate(T* memory, std::size_t) noexcept {
        heap_bytes_held() -= malloc_usable_size(memory) + sizeof(std::size_t);
        std::free(memory);
    }

    template <typename U>
    friend bool operator==(const counting_allocator&, const counting_allocator<U>&) noexcept {
        return true;
    }
};

using heap_accounts = ordered_accounts<counting_allocator<account>>;
using hashed_name_accounts = hashed_accounts<counting_allocator<account>>;

/// The container on the heap, without undo: as in an ordinary program.
class heap_store : public account_table<heap_accounts> {
public:
    class hashed : public account_table<hashed_name_accounts> {
    public:
        explicit hashed(const store_options&) : account_table(objects_) {}

    private:
        hashed_name_accounts objects_;
    };

    explicit heap_store(const store_options&) : account_table(objects_) {}

    [[nodiscard]] std::uint64_t held_bytes() const { return heap_bytes_held(); }

private:
    heap_accounts objects_;
};

} // namespace

std::unique_ptr<account_engine> make_heap_engine() {
    return make_account_engine<heap_store>();
}

// The pools' allocators are of version 1: the container takes nodes with allocate(1), which version
// 2 passes on to the segment's general heap, so that its pool would never be used.

std::unique_ptr<account_engine> make_adaptive_pool_engine() {
    using allocator =
        boost::interprocess::ipcdetail::adaptive_pool_v1<account, mapped_segment::manager, 64, 2,
                                                         5>;
    return make_account_engine<segment_store<ordered_accounts<allocator>>>();
}

std::unique_ptr<account_engine> make_node_allocator_engine() {
    using allocator =
        boost::interprocess::ipcdetail::node_allocator_v1<account, mapped_segment::manager, 64>;
    return make_account_engine<segment_store<ordered_accounts<allocator>>>();
}

} // namespace chainbase::bench
