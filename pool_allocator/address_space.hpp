#pragma once

#include <pool_allocator/page_tracker.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace chainbase {

/// Puts pages into the windows of a range in place of their files.
class page_source {
public:
    /// Window `index` is opened, of this file. Its addresses stay as they are.
    virtual void add(std::size_t index, int file) = 0;

protected:
    ~page_source() = default;
};

/// One reserved range of addresses, divided into windows of equal size.
///
/// The range holds no memory (PROT_NONE, not accounted); windows map files into their places. The
/// distance between two windows is the same in every process that uses the same window size, so an
/// offset within the range means the same byte everywhere.
///
/// Every range of the process is entered in a registry, so that a handle lying in one of them (a
/// shared_string) finds its range from its own address. Looking up is lock-free and thread-safe.
class address_space {
public:
    /// The alignment of the range and so of every window: a huge page.
    static constexpr std::size_t alignment = std::size_t{2} << 20;

    /// The most that a range can have: what an offset in a log record can name.
    static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 46;

    /// Checks a size before it is reserved. Throws usage_error when `window_bytes` is not a
    /// multiple of `alignment`, limit_error when all windows together exceed max_bytes.
    static void require_possible(std::size_t window_bytes, std::size_t windows);

    /// `window_bytes`, which is not 0, or, if this process may not have `windows` of them, the
    /// largest half, quarter ... of which it may have twice as many; 64 MiB at least.
    [[nodiscard]] static std::size_t window_that_fits(std::size_t window_bytes,
                                                      std::size_t windows);

    /// Reserves `windows` windows of `window_bytes`. Throws as require_possible does, and
    /// limit_error when the process may not have so many addresses (`ulimit -v`), or when more than
    /// 256 ranges are in use in the process.
    address_space(std::size_t window_bytes, std::size_t windows);
    ~address_space();
    address_space(const address_space&) = delete;
    address_space& operator=(const address_space&) = delete;

    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t window_bytes() const noexcept { return window_bytes_; }
    [[nodiscard]] std::size_t windows() const noexcept { return windows_; }

    /// Where window number `index` begins. Requires index < windows().
    [[nodiscard]] std::byte* place(std::size_t index) const noexcept {
        return base_ + index * window_bytes_;
    }

    /// Gives the addresses of one window back to the reservation (whatever was mapped is unmapped).
    void vacate(std::size_t index) const noexcept;

    /// How many bytes of a window have a file behind them. Requires index < windows().
    [[nodiscard]] std::size_t file_bytes(std::size_t index) const noexcept {
        return file_bytes_[index];
    }
    /// Called by a window when the length of its file changes.
    void set_file_bytes(std::size_t index, std::size_t bytes) const noexcept {
        if (file_bytes_[index] != bytes) ++length_changes_;
        file_bytes_[index] = bytes;
    }
    /// How often set_file_bytes() changed a length.
    [[nodiscard]] std::uint64_t length_changes() const noexcept { return length_changes_; }

    /// From now on windows are not mapped but added to `source`, which must outlive them.
    void take_pages_from(page_source& source) noexcept { source_ = &source; }
    [[nodiscard]] page_source* source() const noexcept { return source_; }

    /// Tracks which pages changed. Writable windows cover their own pages.
    [[nodiscard]] page_tracker& pages() const noexcept { return *pages_; }

    /// What the registry knows of a range.
    struct range {
        std::uintptr_t base = 0;
        std::size_t bytes = 0;
        std::size_t window_bytes = 0;
    };

    /// The range of this process that contains `address`; one with bytes == 0 if none does. An
    /// entry can become another range's between two loads: what was loaded belongs together if the
    /// base is still the same.
    [[nodiscard]] static range containing(const void* address) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        const std::size_t used = registry_used_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < used; ++i) {
            const std::uintptr_t begin = registry_[i].base.load(std::memory_order_acquire);
            const std::size_t bytes = registry_[i].bytes.load(std::memory_order_acquire);
            if (begin == 0 || at - begin >= bytes) continue;
            const range found{begin, bytes,
                              registry_[i].window_bytes.load(std::memory_order_acquire)};
            if (registry_[i].base.load(std::memory_order_relaxed) == begin) return found;
        }
        return {};
    }

private:
    struct entry {
        std::atomic<std::uintptr_t> base;
        std::atomic<std::size_t> bytes;
        std::atomic<std::size_t> window_bytes;
    };
    static constexpr std::size_t registry_capacity = 256;
    static inline entry registry_[registry_capacity];
    static inline std::atomic<std::size_t> registry_used_{0};

    /// Makes all ranges read-only in every forked child: the mappings belong to the parent's open
    /// state.
    static void forbid_stores_in_forks();
    void enter_registry();
    void leave_registry() noexcept;

    std::byte* reserved_ = nullptr;
    std::size_t reserved_bytes_ = 0;
    std::byte* base_ = nullptr;
    std::size_t window_bytes_;
    std::size_t windows_;
    std::unique_ptr<std::size_t[]> file_bytes_; ///< by window
    mutable std::uint64_t length_changes_ = 0;
    page_source* source_ = nullptr;
    std::unique_ptr<page_tracker> pages_;
};

} // namespace chainbase
