#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace chainbase {

/// The byte ranges of an address space that were announced to change, in the order of the
/// announcements; ranges may repeat. The redo log reads from it what a block changed.
///
/// When memory runs out, or a change cannot be described by ranges (space was given back, a file
/// was created), the ranges are lost until clear(). Not thread-safe.
class changed_ranges {
public:
    /// In bytes from the begin of the address space.
    struct range {
        std::uint64_t offset;
        std::uint64_t bytes;
    };

    void add(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (cursor_ == end_ && !grow()) [[unlikely]]
            return;
        *cursor_++ = {offset, bytes};
    }
    /// Nobody reads these bytes before they are announced again, so they are left out of all().
    void discard(std::uint64_t offset, std::uint64_t bytes) noexcept;
    void lose() noexcept;
    [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }
    [[nodiscard]] std::span<const range> all() const noexcept { return {ranges_.get(), cursor_}; }
    /// Begins again.
    void clear() noexcept;

private:
    bool grow() noexcept;

    std::unique_ptr<range[]> ranges_;
    range* cursor_ = nullptr;
    range* end_ = nullptr; ///< null while the ranges are lost
    std::size_t capacity_ = 0;
    bool is_lost_ = false;
};

/// Which pages of an address space changed since they were last captured, and, while a capture is
/// being copied, which of them still have their captured content.
///
/// The writer calls written() before it stores to a page. A capture marks all changed pages as
/// captured at once; then another thread copies them one by one while the writer goes on. A
/// captured page that is about to change is copied first by the writer itself, through the
/// capture's keeper (copy on write). So the copies are a consistent snapshot.
///
/// One byte for each page, in memory of this process. Thread-safety: copy(), release(), give_back()
/// and, after a failed capture, mark_maybe_changed() by any one thread; all else by the writer.
class page_tracker {
public:
    static constexpr std::size_t page_bytes = 4096;
    static constexpr unsigned page_shift = 12;

    /// Receives the content of captured pages. Called at most once per captured page, by the
    /// copying thread or by the writer, never by both for the same page.
    class keeper {
    public:
        /// `is_known`: the page is known to have changed; else it may equal the last capture.
        virtual void keep(std::uint64_t page, bool is_known) noexcept = 0;

    protected:
        ~keeper() = default;
    };

    /// For `pages` pages, the first of which begins at `base`; none is covered yet. Throws
    /// limit_error when the process may not have so many addresses.
    page_tracker(const std::byte* base, std::uint64_t pages);
    ~page_tracker();
    page_tracker(const page_tracker&) = delete;
    page_tracker& operator=(const page_tracker&) = delete;

    [[nodiscard]] const std::byte* address(std::uint64_t page) const noexcept {
        return base_ + page * page_bytes;
    }

    /// Allocates the tracking bytes of `pages` pages from `first` on. All other calls require
    /// covered pages. Throws std::bad_alloc.
    void cover(std::uint64_t first, std::uint64_t pages);

    /// Announces that `bytes` bytes at `address` are going to change. Requires bytes > 0.
    void written(const void* address, std::size_t bytes) noexcept {
        written_at(offset_of(address), bytes);
    }
    /// The same, by the distance from the base.
    void written_at(std::uint64_t offset, std::size_t bytes) noexcept {
        if (ranges_) ranges_->add(offset, bytes);
        change_pages(offset, bytes);
    }

    /// As written(), for bytes that no range can describe: they are given back, or new.
    void replaced(const void* address, std::size_t bytes) noexcept {
        change_pages(offset_of(address), bytes);
        if (ranges_) ranges_->lose();
    }
    /// Announces that the bytes are given back and not read before they are announced again: no
    /// range describes them. Their former content must be announced by cleared().
    void discarded(const void* address, std::size_t bytes) noexcept {
        if (ranges_) ranges_->discard(offset_of(address), bytes);
    }
    /// As written(), for bytes passed to discarded(). Requires that they are not a hole.
    void cleared(const void* address, std::size_t bytes) noexcept {
        change_pages(offset_of(address), bytes);
    }
    /// From now on each announced range is also added to `to`; null: to none.
    void note_ranges(changed_ranges* to) noexcept { ranges_ = to; }

    /// Marks `pages` pages from `first` on as possibly changed, for a segment that another process
    /// wrote.
    void mark_maybe_changed(std::uint64_t first, std::uint64_t pages) noexcept;

    /// Whether a change of any of these pages was announced since its last capture.
    [[nodiscard]] bool has_written(std::uint64_t first, std::uint64_t pages) const noexcept;
    /// How many pages a capture of these pages would have.
    [[nodiscard]] std::uint64_t count_changed(std::uint64_t first,
                                              std::uint64_t pages) const noexcept;
    /// Captures the pages of this range that changed or may have changed: they are passed to
    /// `with`, by copy() or by the writer before it changes them. Requires that all pages of the
    /// previous capture were. Returns the number of captured pages.
    std::uint64_t capture(std::uint64_t first, std::uint64_t pages, keeper& with) noexcept;
    /// Passes each page of the range that is still captured to the keeper.
    void copy(std::uint64_t first, std::uint64_t pages) noexcept;
    /// The pages of the range that are still captured count as changed again, and are not passed to
    /// the keeper any more.
    void release(std::uint64_t first, std::uint64_t pages) noexcept;
    /// Marks a page that was passed to the keeper as changed again: its copy was dropped.
    void give_back(std::uint64_t page, bool is_known) noexcept;

private:
    /// The state of a page. A newly covered page is clean.
    enum class state : std::uint8_t {
        clean,
        written,
        suspect,
        captured,
        suspect_captured,
        copying
    };

    [[nodiscard]] std::uint64_t offset_of(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_);
    }
    void change_pages(std::uint64_t offset, std::size_t bytes) noexcept {
        const std::uint64_t first = offset >> page_shift;
        const std::uint64_t last = (offset + bytes - 1) >> page_shift;
        if (!is_written(first)) [[unlikely]]
            change(first);
        for (std::uint64_t page = first + 1; page <= last; ++page)
            if (!is_written(page)) change(page);
    }
    [[gnu::cold]] [[gnu::noinline]] void change(std::uint64_t page) noexcept;
    [[nodiscard]] std::atomic_ref<state> at(std::uint64_t page) const noexcept {
        return std::atomic_ref(states_[page]);
    }
    [[nodiscard]] bool is_written(std::uint64_t page) const noexcept {
        return at(page).load(std::memory_order_relaxed) == state::written;
    }
    [[nodiscard]] bool take_copy(std::uint64_t page, state& found) noexcept;

    const std::byte* base_;
    state* states_;
    std::uint64_t pages_;
    keeper* keeper_ = nullptr;
    changed_ranges* ranges_ = nullptr;
};

} // namespace chainbase
