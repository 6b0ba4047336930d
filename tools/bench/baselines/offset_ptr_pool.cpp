#include <pool_allocator/base/error.hpp>
#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/account_table.hpp>

#include <boost/interprocess/offset_ptr.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

namespace chainbase::bench {

namespace {

constexpr std::size_t growth = std::size_t{8} << 20;

[[noreturn]] void fail(const std::string& what) {
    throw io_error("slot_pool: " + what + ": " + std::strerror(errno));
}

} // namespace

/// Equal slots in one mapped file that grows in place: takes the last freed slot first, else the
/// next one. The whole range is mapped at once and the file below it grows in steps, so nothing
/// ever moves. One thread; keeps freed slots until it is destroyed.
class slot_pool {
public:
    /// Reserves `max_bytes` of addresses. Requires: no file at `path`. Throws: chainbase::io_error.
    slot_pool(const std::filesystem::path& path, std::size_t most_bytes)
        : range_((most_bytes + growth - 1) / growth * growth) {
        file_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file_ < 0) fail("create " + path.string());
        void* mapped = mmap(nullptr, range_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (mapped == MAP_FAILED) {
            close(file_);
            fail("map " + path.string());
        }
        base_ = static_cast<char*>(mapped);
        madvise(base_, range_, MADV_HUGEPAGE);
    }
    ~slot_pool() {
        munmap(base_, range_);
        close(file_);
    }
    slot_pool(const slot_pool&) = delete;
    slot_pool& operator=(const slot_pool&) = delete;

    /// The first call sets the size of all slots. Throws: usage_error for another size, limit_error
    /// when the addresses are used up, io_error when the file cannot grow.
    [[nodiscard]] void* allocate(std::size_t bytes) {
        if (bytes != slot_bytes_) set_slot_bytes(bytes);
        if (free_ == nullptr) return next_slot();
        free_slot* slot = free_;
        free_ = slot->next.get();
        return slot;
    }

    void deallocate(void* slot) noexcept { free_ = new (slot) free_slot{free_}; }

    /// Slots ever used, including freed ones.
    [[nodiscard]] std::uint64_t held_bytes() const noexcept { return used_; }

private:
    struct free_slot {
        boost::interprocess::offset_ptr<free_slot> next;
    };

    void set_slot_bytes(std::size_t bytes) {
        if (slot_bytes_ != 0 || bytes < sizeof(free_slot))
            throw usage_error("slot_pool: a slot of " + std::to_string(bytes) +
                              " bytes asked of a pool of " + std::to_string(slot_bytes_));
        slot_bytes_ = bytes;
    }
    void* next_slot() {
        if (used_ + slot_bytes_ > size_) grow();
        void* slot = base_ + used_;
        used_ += slot_bytes_;
        return slot;
    }
    void grow() {
        if (size_ + growth > range_)
            throw limit_error("slot_pool: full at " + std::to_string(size_) + " bytes");
        if (ftruncate(file_, static_cast<off_t>(size_ + growth)) != 0) fail("grow");
        size_ += growth;
    }

    std::size_t slot_bytes_ = 0;
    std::size_t range_;
    int file_ = -1;
    char* base_ = nullptr;
    std::size_t size_ = 0;
    std::size_t used_ = 0;
    free_slot* free_ = nullptr;
};

/// The pool as an allocator for Boost.MultiIndex: every pointer in a node is an offset pointer of
/// eight bytes. Serves containers whose nodes all have the pool's slot size.
template <typename T>
class slot_allocator {
public:
    using value_type = T;
    using pointer = boost::interprocess::offset_ptr<T>;
    using const_pointer = boost::interprocess::offset_ptr<const T>;
    using void_pointer = boost::interprocess::offset_ptr<void>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    template <typename U>
    struct rebind {
        using other = slot_allocator<U>;
    };

    explicit slot_allocator(slot_pool& pool) noexcept : pool_(&pool) {}
    template <typename U>
    slot_allocator(const slot_allocator<U>& other) noexcept : pool_(other.pool()) {}

    pointer allocate(std::size_t count) {
        static_assert(sizeof(T) % alignof(T) == 0 && alignof(T) <= sizeof(void*));
        return pointer(static_cast<T*>(pool_->allocate(count * sizeof(T))));
    }
    void deallocate(pointer slot, std::size_t) noexcept { pool_->deallocate(slot.get()); }

    [[nodiscard]] slot_pool* pool() const noexcept { return pool_; }

    template <typename U>
    friend bool operator==(const slot_allocator& a, const slot_allocator<U>& b) noexcept {
        return a.pool() == b.pool();
    }

private:
    slot_pool* pool_;
};

namespace {

using pooled_accounts = ordered_accounts<slot_allocator<account>>;

/// The container in a pool of equal slots, with Boost's offset pointers as links.
class offset_ptr_pool_store : public account_table<pooled_accounts> {
public:
    explicit offset_ptr_pool_store(const store_options& options)
        : account_table(objects_),
          pool_(options.directory / "slots", max_bytes_per_object * (options.objects + 1)),
          objects_(pooled_accounts::ctor_args_list(), slot_allocator<account>(pool_)) {}

    [[nodiscard]] std::uint64_t held_bytes() const { return pool_.held_bytes(); }

private:
    static constexpr std::size_t max_bytes_per_object = 256;

    slot_pool pool_;
    pooled_accounts objects_;
};

} // namespace

std::unique_ptr<account_engine> make_offset_ptr_pool_engine() {
    return make_account_engine<offset_ptr_pool_store>();
}

} // namespace chainbase::bench
