#pragma once

#include <pool_allocator/base/fault_injection.hpp>
#include <pool_allocator/fwd.hpp>
#include <pool_allocator/page_tracker.hpp>

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace chainbase {

/// What a record of the log says besides "these bytes were there".
enum class record_kind : std::uint8_t {
    words = 0,    ///< plain bytes to copy back
    modified = 1, ///< the image of an object's value, to copy back
    created = 2,  ///< a note: an object was created at this node; the body is its id
    removed = 3,  ///< a note: an object was removed from this node; the body is its id
    mark = 4,     ///< a session begins here; the body is its session_mark
};

/// The eight bytes that end every record, so that the log reads backwards.
///
///     bits  0-43  offset of the bytes within the address space, in 4-byte words (64 TiB)
///     bits 44-59  length of the body, in 4-byte words (at most 256 KiB - 4)
///     bits 60-63  record_kind
struct record_trailer {
    std::uint64_t bits;

    static constexpr std::size_t max_body = 0xFFFF * 4;
    /// The addresses that an offset can name.
    static constexpr std::uint64_t reach = std::uint64_t{4} << 44;

    /// Whether a body may have this length: else the length would spill into the kind.
    static constexpr bool fits(std::size_t bytes) noexcept {
        return bytes % 4 == 0 && bytes <= max_body;
    }

    static record_trailer make(std::uint64_t offset, std::size_t bytes, record_kind kind) noexcept {
        return {offset >> 2 | static_cast<std::uint64_t>(bytes >> 2) << 44 |
                static_cast<std::uint64_t>(kind) << 60};
    }
    [[nodiscard]] std::uint64_t offset() const noexcept {
        return (bits & ((std::uint64_t{1} << 44) - 1)) << 2;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return (bits >> 44 & 0xFFFF) << 2; }
    [[nodiscard]] record_kind kind() const noexcept { return static_cast<record_kind>(bits >> 60); }
    /// Whether rolling back copies the body to the offset (else it is a note).
    [[nodiscard]] bool restores() const noexcept { return bits >> 60 <= 1; }
};

/// A handle on a small block of shared words that change with almost every operation (a type's free
/// list, counts and container): logged as a whole once per epoch instead of word by word.
///
/// Lives in the writer's own memory. Must outlive every operation that touches it.
class root_block {
public:
    root_block(void* address, std::size_t bytes)
        : address_(static_cast<std::byte*>(address)), bytes_(bytes),
          before_(std::make_unique<std::byte[]>(bytes)) {
        assert(record_trailer::fits(bytes) && "a root block must fit one record");
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    friend class write_barrier;

    std::byte* address_;
    std::size_t bytes_;
    std::uint64_t epoch_ = 0;
    std::uint64_t operation_ = 0;
    std::unique_ptr<std::byte[]> before_;
};

/// Memory that is kept for rollbacks after it was replaced, such as an outgrown area.
class kept_memory {
public:
    /// Gives it back. Requires that no rollback needs it.
    virtual void release() noexcept = 0;

protected:
    ~kept_memory() = default;
};

/// Puts off a part of an operation to its end.
class deferred_work {
public:
    /// Does what was put off, within the operation. If it throws, the operation must fail.
    virtual void finish() = 0;
    /// Drops it: the operation is rolled back.
    virtual void drop() noexcept = 0;

protected:
    ~deferred_work() = default;
};

/// Every byte that changes in shared memory passes here first: the old bytes are appended to the
/// before-image log, then the log's tail is advanced, then the caller stores.
///
/// The log's memory belongs to the layer above (undo), which derives from this class and supplies
/// chunks. Room for a whole step is reserved beforehand, so `record` has no bounds check and cannot
/// fail. One writer thread at a time; it finds the barrier through active().
///
/// Invariants:
///  1. The tail word in shared memory never covers a record that is not completely written, and no
///     store happens before the tail covers its record: by release fences, for readers of
///     snapshots in other threads and processes; a kill needs compiler order only.
///  2. An *epoch* is a time in which nothing was rolled back and no session began or ended. What
///     was logged once in it need not be logged again in it; epochs are never reused.
///  3. Bytes in the fresh range did not exist when the epoch began; their content needs no log.
///  4. The page tracker knows of every page that changed in the epoch, before it changes.
///  5. Every page that changed since the end of the last block has a record since then.
class write_barrier {
public:
    write_barrier(const write_barrier&) = delete;
    write_barrier& operator=(const write_barrier&) = delete;

    /// The barrier of the operation that the calling thread is in. Requires that there is one.
    [[nodiscard]] static write_barrier& active() noexcept { return *active_; }
    [[nodiscard]] static bool in_operation() noexcept { return active_ != nullptr; }

    /// Makes room for `bytes` of records, trailers included, in one chunk. Throws
    /// out_of_space_error, and limit_error when no chunk holds so many; then nothing changed.
    void reserve(std::size_t bytes) {
        if (static_cast<std::size_t>(end_ - cursor_) < bytes) extend(bytes);
    }

    /// Appends the `bytes` at `address`. Requires reserved room, and a length that fits a record.
    void record(const void* address, std::size_t bytes,
                record_kind kind = record_kind::words) noexcept {
        assert(record_trailer::fits(bytes) && "the length would spill into the record's kind");
        std::memcpy(cursor_, address, bytes);
        append(offset_of(address), bytes, kind);
        written(address, bytes);
    }
    /// Appends one 4-byte word, unless it is fresh. Requires reserved room.
    void record_word(const void* address) noexcept {
        if (is_fresh(address)) return;
        std::memcpy(cursor_, address, 4);
        append(offset_of(address), 4, record_kind::words);
        written(address, 4);
    }
    /// Announces bytes at `address` that come into use for the first time: no rollback needs them,
    /// so there is one word of each page in the log, once in a block. Requires reserved room for
    /// first_use_bytes(bytes), or 12 bytes if they lie within one page.
    void first_use(const void* address, std::size_t bytes) noexcept {
        const std::uint64_t begin = offset_of(address);
        const std::uint64_t last = (begin + bytes - 1) / page_tracker::page_bytes;
        for (std::uint64_t page = begin / page_tracker::page_bytes; page <= last; ++page)
            if (!has_record(page)) record_page(page, begin);
        written(address, bytes);
    }
    /// As first_use, for any length, with room made piece by piece. Throws as reserve does.
    void first_use_long(const void* address, std::size_t bytes);
    /// The log bytes that first_use may take.
    static constexpr std::size_t first_use_bytes(std::size_t bytes) noexcept {
        return (bytes / page_tracker::page_bytes + 2) * record_bytes(sizeof(std::uint32_t));
    }
    /// Appends a note about the node at `address`: rolling back skips it, session_changes reads it.
    /// Requires reserved room.
    void note(const void* address, std::uint32_t body, record_kind kind) noexcept {
        std::memcpy(cursor_, &body, sizeof body);
        append(offset_of(address), sizeof body, kind);
    }
    /// As record, for any length, with room made piece by piece. Throws as reserve does.
    void record_long(const void* address, std::size_t bytes);

    /// The log bytes that one record with a body of `bytes` takes.
    static constexpr std::size_t record_bytes(std::size_t bytes) noexcept {
        return bytes + sizeof(record_trailer);
    }

    /// Logs `root` unless the log has it in this epoch, and keeps its bytes for the operation's own
    /// rollback. Returns whether it is the first touch in this epoch. Requires room for the root's
    /// bytes.
    bool touch(root_block& root) noexcept {
        if (root.operation_ != operation_) keep_for_rollback(root);
        if (root.epoch_ == epoch_) return false;
        root.epoch_ = epoch_;
        record(root.address_, root.bytes_);
        return true;
    }

    /// Announces one more root, so that touching never allocates. Throws std::bad_alloc.
    void expect_root() { touched_.reserve(++roots_); }

    /// Declares [begin, begin + bytes) fresh until the operation ends or this is called again:
    /// record_word skips what lies there. Requires that nothing reads those bytes after a rollback.
    void set_fresh(const void* begin, std::size_t bytes) noexcept {
        fresh_begin_ = reinterpret_cast<std::uintptr_t>(begin);
        fresh_bytes_ = bytes;
    }
    [[nodiscard]] bool is_fresh(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - fresh_begin_ < fresh_bytes_;
    }

    /// Notes that rollbacks to before the current epoch need `memory`, until it is told to release
    /// it. Throws std::bad_alloc.
    void keep(kept_memory& memory);
    /// Drops such a note: `memory` is going to be destroyed.
    void forget(const kept_memory& memory) noexcept;

    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] const std::byte* range_base() const noexcept { return range_base_; }
    /// What may put off work to the end of operations; it must outlive them.
    void attach(deferred_work& work) noexcept { attached_ = &work; }
    [[nodiscard]] deferred_work& attached() const noexcept { return *attached_; }
    /// Says that what is attached has put off work.
    void defer() noexcept { is_deferred_ = true; }
    /// Throws what the work throws; the operation must then fail.
    void finish_deferred() {
        if (!is_deferred_) return;
        attached_->finish();
        is_deferred_ = false;
    }
    void drop_deferred() noexcept {
        if (is_deferred_) attached_->drop();
        is_deferred_ = false;
    }

protected:
    explicit write_barrier(const address_space& range) noexcept;
    virtual ~write_barrier() = default;

    /// Supplies a chunk with room for `bytes`: sets cursor_ and end_, and moves the tail there.
    virtual void extend(std::size_t bytes) = 0;

    /// Announces a change of the bytes at `address` without a record.
    void written(const void* address, std::size_t bytes) noexcept {
        pages_->written(address, bytes);
    }
    /// Pages have no record any more that counts: a block ended, or records were taken back.
    void forget_pages() noexcept { ++pages_since_; }
    /// Starts a new epoch: nothing counts as logged any more.
    void new_epoch() noexcept { ++epoch_; }
    void enter_operation() noexcept {
        assert(active_ == nullptr && "operations do not nest");
        ++operation_;
        touched_.clear();
        fresh_bytes_ = 0;
        active_ = this;
    }
    void leave_operation() noexcept { active_ = nullptr; }
    /// Puts every root touched in this operation back to its bytes from before the operation.
    void restore_roots() noexcept {
        for (const root_block* root : touched_)
            std::memcpy(root->address_, root->before_.get(), root->bytes_);
    }

    /// Whether any memory is kept for rollbacks.
    [[nodiscard]] bool keeps_memory() const noexcept { return !kept_.empty(); }
    /// In which epoch before `epoch` kept memory was replaced last; 0 if there is none.
    [[nodiscard]] std::uint64_t newest_kept(std::uint64_t epoch) const noexcept;
    /// Releases what was replaced before `epoch`.
    void release_kept(std::uint64_t epoch) noexcept;

    void append(std::uint64_t offset, std::size_t bytes, record_kind kind) noexcept {
        assert(cursor_ + bytes + sizeof(record_trailer) <= end_ && "no room was reserved");
        const record_trailer trailer = record_trailer::make(offset, bytes, kind);
        std::memcpy(cursor_ + bytes, &trailer, sizeof trailer);
        fault::reach(fault::point::log_append);
        cursor_ += bytes + sizeof trailer;
        std::atomic_thread_fence(std::memory_order_release);
        std::atomic_ref(*tail_).store(static_cast<std::uint64_t>(cursor_ - log_base_),
                                      std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
    }
    [[nodiscard]] std::uint64_t offset_of(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - range_base_);
    }

    std::byte* range_base_;
    page_tracker* pages_;
    std::byte* log_base_ = nullptr; ///< where the window of the log begins
    std::byte* cursor_ = nullptr;   ///< where the next record goes
    std::byte* end_ = nullptr;      ///< end of the chunk
    std::uint64_t* tail_ = nullptr; ///< the shared word: cursor_ - log_base_

private:
    void keep_for_rollback(root_block& root) noexcept {
        root.operation_ = operation_;
        std::memcpy(root.before_.get(), root.address_, root.bytes_);
        touched_.push_back(&root);
    }

    struct kept_since {
        kept_memory* memory;
        std::uint64_t epoch;
    };
    /// A page that first_use() has made a record of.
    struct recorded_page {
        std::uint64_t page = 0;
        std::uint64_t since = 0;
    };

    [[nodiscard]] recorded_page& place_of(std::uint64_t page) noexcept {
        return recorded_pages_[page % recorded_pages_.size()];
    }
    [[nodiscard]] bool has_record(std::uint64_t page) noexcept {
        const recorded_page& place = place_of(page);
        return place.page == page && place.since == pages_since_;
    }
    [[gnu::noinline]] void record_page(std::uint64_t page, std::uint64_t begin) noexcept;

    static inline thread_local constinit write_barrier* active_ = nullptr;

    std::uintptr_t fresh_begin_ = 0;
    std::size_t fresh_bytes_ = 0;
    std::uint64_t pages_since_ = 1;
    std::array<recorded_page, 32> recorded_pages_{};
    std::uint64_t epoch_ = 1;
    std::uint64_t operation_ = 0;
    deferred_work* attached_ = nullptr;
    bool is_deferred_ = false;
    std::vector<kept_since> kept_;
    std::size_t roots_ = 0;
    std::vector<root_block*> touched_; ///< by the current operation
};

/// A 32-bit word in shared memory that logs itself when it changes. Links, table entries and
/// counters within nodes consist of such words. Storing the value it already has does nothing.
class logged_word {
public:
    [[nodiscard]] std::uint32_t load() const noexcept { return value_; }
    void store(std::uint32_t value) noexcept {
        if (value_ == value) return;
        write_barrier::active().record_word(&value_);
        value_ = value;
    }

private:
    std::uint32_t value_;
};
static_assert(sizeof(logged_word) == 4);

} // namespace chainbase
