#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace chainbase {

/// Which bytes of an address space were announced to change, in the order of the announcements;
/// the same ones may come again. For who wants to know what a block changed.
///
/// Without memory, or when a change cannot be described by ranges (space was given back, a file
/// was made), the ranges are lost until clear(). Not thread-safe.
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
    /// The bytes are of no use to anybody until they are announced again, so they are not in all().
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
    range* end_ = nullptr; ///< as long as they are lost, there is no room
    std::size_t capacity_ = 0;
    bool is_lost_ = false;
};

/// Which pages of an address space changed since they were last captured, and, while a capture is
/// copied, which of them still hold what they held when it began.
///
/// The writer calls written() before it stores to a page. A capture declares all pages that changed
/// captured, in an instant; then another thread copies them one by one while the writer goes on.
/// A page that is about to change before it was copied is copied by the writer itself, through the
/// keeper of the capture (copy on demand). So what is copied is the state of the instant.
///
/// One byte for each page, in memory of this process. Thread-safety: copy(), release(), give_back()
/// and, after a capture that failed, suspect() by any one thread, all else by the writer.
class page_tracker {
public:
    static constexpr std::size_t page_bytes = 4096;
    static constexpr unsigned page_shift = 12;

    /// Takes what a page holds while the writer waits. Called for each captured page at most once,
    /// by the thread that copies or by the writer, never by both for the same page.
    class keeper {
    public:
        /// `is_known`: the page changed; else it may be what the last capture had.
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

    /// Makes room for what is known of `pages` pages from `first` on. All other calls are about
    /// pages that are covered. Throws std::bad_alloc.
    void cover(std::uint64_t first, std::uint64_t pages);

    /// The bytes at `address` are going to change. Requires some.
    void written(const void* address, std::size_t bytes) noexcept {
        written_at(offset_of(address), bytes);
    }
    /// The same, by the distance from the base.
    void written_at(std::uint64_t offset, std::size_t bytes) noexcept {
        if (ranges_) ranges_->add(offset, bytes);
        change_pages(offset, bytes);
    }

    /// As written(), of bytes that cannot be described as a range: they are given back, or new.
    void replaced(const void* address, std::size_t bytes) noexcept {
        change_pages(offset_of(address), bytes);
        if (ranges_) ranges_->lose();
    }
    /// The bytes are given back, and nobody reads them before they are announced again: no range
    /// describes them. What they held is to be announced by cleared().
    void discarded(const void* address, std::size_t bytes) noexcept {
        if (ranges_) ranges_->discard(offset_of(address), bytes);
    }
    /// As written(), of bytes that discarded() is told of. Requires that they are no hole.
    void cleared(const void* address, std::size_t bytes) noexcept {
        change_pages(offset_of(address), bytes);
    }
    /// From here on each range that is announced is noted in `to`, too; null: nowhere.
    void note_ranges(changed_ranges* to) noexcept { ranges_ = to; }

    /// Nothing is known of `pages` pages from `first` on: each may have changed. For a segment that
    /// another process wrote.
    void suspect(std::uint64_t first, std::uint64_t pages) noexcept;

    /// Whether one of these pages was announced since it was last captured.
    [[nodiscard]] bool has_written(std::uint64_t first, std::uint64_t pages) const noexcept;
    /// How many pages a capture of these pages would have.
    [[nodiscard]] std::uint64_t count_changed(std::uint64_t first,
                                              std::uint64_t pages) const noexcept;
    /// Declares the pages of this range that changed, or may have, captured: they are passed to
    /// `with`, by copy() or by the writer before it changes them. Requires that those of the former
    /// capture all were. Returns how many pages there are.
    std::uint64_t capture(std::uint64_t first, std::uint64_t pages, keeper& with) noexcept;
    /// Passes each page of the range that is still captured to the keeper.
    void copy(std::uint64_t first, std::uint64_t pages) noexcept;
    /// The pages of the range that are still captured count as changed again, and are not passed to
    /// the keeper any more.
    void release(std::uint64_t first, std::uint64_t pages) noexcept;
    /// A page that was passed to the keeper counts as changed again: its copy is of no use.
    void give_back(std::uint64_t page, bool is_known) noexcept;

private:
    /// Of a page. What was just covered is clean.
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
