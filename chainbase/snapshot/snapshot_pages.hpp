#pragma once

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <undo/before_images.hpp>

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace chainbase {

/// The memory of one snapshot: a range of addresses whose pages have no access until they are first
/// touched. Then a handler of SIGSEGV copies the live page and puts it back to the snapshot's
/// block.
///
/// The pages are those of an anonymous file: written through the file, and made readable at once,
/// so that no thread sees half a page. One that is written again gets the bytes that it has. The
/// handler passes on every other fault.
///
/// A page that cannot be had is one of zeros where the reader bears that, as one does that reads
/// damaged states, and asks afterwards. Elsewhere it ends the guarded read in which it was touched,
/// and outside of one the process.
///
/// Thread-safety: any number of threads read; the object is made and destroyed by one, while none
/// reads. A fork does not have the memory.
class snapshot_pages final : public page_source {
public:
    /// `images` tells what the pages were, where a window is every `live_window_bytes`, which are
    /// no fewer than in `range`. Both must outlive this object. Throws limit_error when there are
    /// too many snapshots in the process, io_error.
    snapshot_pages(const address_space& range, before_images& images,
                   std::uint64_t live_window_bytes);
    ~snapshot_pages();
    snapshot_pages(const snapshot_pages&) = delete;
    snapshot_pages& operator=(const snapshot_pages&) = delete;

    void add(std::size_t index, int file) override;

    /// Puts the handler in its place, with each snapshot; again before a read in a process whose
    /// other parts take the signal, too. It passes on to what was there. Throws io_error.
    static void install_handler();

    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }
    /// From now on; at first they do.
    void lost_pages_are_zeros(bool are) noexcept { are_zeros_ = are; }
    /// Throws what reading on would throw, and why a page is zeros.
    void require_usable();
    /// Whether a page is zeros: what was read may be wrong.
    [[nodiscard]] bool has_lost_page() const;
    /// Gives the memory back: what is read next is copied again. Requires that no thread reads, and
    /// ends the validity of what was read.
    void give_back();
    /// Moves `images` on to the newest block. Requires and ends the same; pages must be copied
    /// again or given back before the next read. Throws what filling a page throws.
    void move_on();
    /// Copies pages again that changed when it moved on, or all if `images` began anew. Throws what
    /// filling a page throws; then the same holds.
    void copy_again(bool all);
    /// Bytes of memory that it holds, records included.
    [[nodiscard]] std::uint64_t bytes() const;
    /// Without the records.
    [[nodiscard]] std::uint64_t page_bytes() const;
    /// Pages that were copied, and how often one was copied again.
    [[nodiscard]] std::uint64_t pages() const;
    [[nodiscard]] std::uint64_t retries() const;

private:
    static void handle(int signal, siginfo_t* about, void* context);
    [[nodiscard]] static snapshot_pages* at(std::uintptr_t address) noexcept;
    [[nodiscard]] static bool may_be_link(std::uintptr_t address) noexcept;
    void enter();
    void leave() noexcept;

    /// Makes the page readable. Returns false if it is already. Throws as before_images.
    [[nodiscard]] bool fill(std::uint64_t offset);
    void copy(std::uint64_t offset, std::span<std::byte> into) const;
    void put_back(std::uint64_t offset, std::span<std::byte> bytes) const noexcept;
    [[nodiscard]] std::uint64_t step_at(std::uint64_t offset) const noexcept;
    /// Makes it a page of zeros. Returns false where that is not wanted.
    [[nodiscard]] bool lose(std::uint64_t offset, const std::exception_ptr& why) noexcept;

    process_of_origin origin_;
    const address_space& range_;
    const std::uint64_t bytes_; ///< of all its windows
    const std::uint64_t live_window_bytes_;
    before_images& images_;
    file_descriptor memory_;
    std::unordered_map<std::size_t, file_descriptor> files_; ///< by window
    mutable std::mutex mutex_;
    /// What is filled, by the smaller step; a bit for each page to copy again.
    std::unordered_map<std::uint64_t, std::uint16_t> filled_;
    std::uint64_t pages_ = 0;
    std::size_t small_ = 0; ///< small steps
    std::vector<std::byte> piece_;
    std::atomic<bool> are_zeros_{true};
    std::exception_ptr lost_; ///< why a page is zeros
};

} // namespace chainbase
