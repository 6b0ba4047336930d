#pragma once

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/pool.hpp>
#include <pool_allocator/shared_buffer.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

/// The words of the page runs, in the root block of their window.
///
///     0  first_free   4   first page of the lowest free run, 0 if there is none
///     4  end          4   pages at or above were never used
///     8  live         4   pages in use
struct runs_words {
    slot_number first_free;
    slot_number end;
    slot_number live;
};
static_assert(sizeof(runs_words) == 12 && offsetof(runs_words, end) == 4 &&
              offsetof(runs_words, live) == 8);

/// The begin of a free run.
///
///     0  next    4   first page of the next free run, 0 if this is the last one
///     4  pages   4   its length
struct free_run {
    slot_number next;
    std::uint32_t pages;
};
static_assert(sizeof(free_run) == 8 && offsetof(free_run, pages) == 4);

/// Runs of whole pages, for buffers larger than any size class.
///
/// Free runs form a list in order of address, threaded through their first words {next, pages};
/// neighbours are merged. First fit: such buffers are rare and large, so the walk is cheap compared
/// with the copy. A free run keeps its pages until prepare_trim() and trim() give them back: all
/// pages of a run at the end of the file; of other runs all but the first page, which links the
/// list.
///
/// One writer, in an operation.
class page_runs {
public:
    static constexpr std::size_t page_bytes = 4096;
    /// Page 0 is the window's header page, so a page number is an offset and 0 means none.
    static constexpr window::geometry geometry{window_kind::runs, page_bytes, 0};

    /// Takes over a window; writes the root block of a new one.
    page_runs(window&& opened, bool create);
    /// Lets operations of `barrier` change the runs; the barrier must outlive them. Throws
    /// std::bad_alloc.
    void attach(write_barrier& barrier);

    /// Allocates a run of `pages` pages and returns its first page; logs its old content as far as
    /// it was ever used. Throws out_of_space_error, limit_error, damaged_error when the free list
    /// is corrupt; then only the log changed.
    [[nodiscard]] slot_number allocate(std::uint32_t pages);
    /// Gives back a run that allocate returned, or the begin or end of one. Throws
    /// out_of_space_error when the log cannot grow, damaged_error when it is not a run or the free
    /// list is corrupt; the operation must then fail.
    void free(slot_number first, std::uint32_t pages);

    [[nodiscard]] std::byte* address(slot_number page) const noexcept {
        return file_.base() + std::size_t{page} * page_bytes;
    }
    [[nodiscard]] window& file() noexcept { return file_; }
    [[nodiscard]] const window& file() const noexcept { return file_; }
    /// Pages at or above were never used.
    [[nodiscard]] slot_number end() const noexcept { return words().end; }
    /// How the file's bytes are used; slots are pages, not counting the header page.
    [[nodiscard]] usage measure() const noexcept;
    /// Removes a free run at the end from the used part. Requires an operation, and that nothing
    /// can be undone. Throws out_of_space_error when the log cannot grow, damaged_error.
    void prepare_trim();
    /// Truncates the unused end and punches free pages, after the operation of prepare_trim()
    /// completed. Throws io_error, damaged_error.
    void trim();

private:
    [[nodiscard]] runs_words& words() const noexcept {
        return *reinterpret_cast<runs_words*>(file_.root());
    }
    [[nodiscard]] free_run& run_at(slot_number page) const noexcept {
        return *reinterpret_cast<free_run*>(address(page));
    }
    void store(free_run& run, free_run value);
    void set_next(slot_number before, slot_number next);
    /// A free run and the one before it in the list, 0 for none.
    struct place {
        slot_number before;
        slot_number run;
    };
    /// The free run that begins at `page`, after checking that it lies in the used part and that
    /// the next run begins behind it, so that a walk ends. Throws damaged_error.
    [[nodiscard]] free_run checked_run(slot_number page) const;
    [[noreturn]] void throw_bad_run(slot_number page, std::uint32_t pages) const;
    [[nodiscard]] place find_free(std::uint32_t pages) const;
    [[nodiscard]] place last_free() const;
    slot_number append(std::uint32_t pages);
    void touch();

    window file_;
    write_barrier* barrier_ = nullptr;
    root_block root_;
};

/// The buffers of strings and arrays: one pool per size class, shared by all types of a database,
/// and page runs for larger buffers.
///
/// Buffers are immutable: an assignment makes a new one and frees the old one. Freed buffers are
/// kept until their operation is complete, so that within it the old content can still be read.
/// Classes: 16, 32, 48 bytes, then 64 * 2^i and 96 * 2^i up to 64 KiB.
///
/// One writer, in an operation. Reading a buffer needs no lock beyond that of its object.
class size_classes final : public deferred_work {
public:
    static constexpr std::size_t class_count = 24;
    static constexpr std::size_t largest_class = std::size_t{64} << 10;
    /// Windows taken in the address space, beginning at first_window: the classes, then the runs.
    static constexpr std::uint32_t first_window = 1;
    static constexpr std::uint32_t window_count = class_count + 1;

    static constexpr std::uint32_t bytes_of_class(std::size_t c) noexcept {
        if (c < 3) return static_cast<std::uint32_t>(16 * (c + 1));
        const std::size_t i = c - 3;
        return static_cast<std::uint32_t>((i % 2 == 0 ? 64U : 96U) << (i / 2));
    }
    /// The class of a length in 1 ... largest_class.
    static constexpr std::size_t class_of(std::size_t length) noexcept {
        if (length <= 48) return (length - 1) / 16;
        if (length <= 64) return 3;
        const auto octave = static_cast<std::size_t>(std::bit_width(length - 1)) - 7;
        return 3 + 2 * octave + (length <= (std::size_t{96} << octave) ? 1 : 2);
    }
    static constexpr window::geometry geometry(std::size_t c) noexcept {
        return {window_kind::buffers, bytes_of_class(c), window_header::page_bytes};
    }

    /// Opens, or creates if `how` says so, the windows in `folder`. Throws io_error,
    /// out_of_space_error, damaged_error, format_error.
    size_classes(const address_space& addresses, const std::string& folder, window::mode how);
    /// Lets operations of `barrier` change the buffers; the barrier must outlive them. Throws
    /// std::bad_alloc.
    void attach(write_barrier& barrier);
    /// The buffers that this barrier's operations change. Requires attach().
    [[nodiscard]] static size_classes& of(const write_barrier& barrier) noexcept {
        return static_cast<size_classes&>(barrier.attached());
    }

    /// Copies `content` into a new buffer. Requires an operation. Throws out_of_space_error,
    /// limit_error (content of 4 GiB or more).
    [[nodiscard]] buffer_handle allocate(std::span<const std::byte> content);
    /// Makes sure that the next `count` free_later cannot fail. Throws std::bad_alloc.
    void expect_free(std::size_t count);
    /// Frees a buffer when the operation completes. Throws std::bad_alloc; then nothing changed.
    void free_later(buffer_handle buffer);
    /// Calls free_later() for every buffer that values of this segment own; one further
    /// free_later() cannot fail. Throws as free_later, and damaged_error when a handle lies beyond
    /// the used part.
    void free_later_in(std::span<const std::byte> values, const buffer_layout& of);
    /// Frees the buffers that free_later() collected. Throws out_of_space_error, damaged_error when
    /// one was never in use; the operation must then fail.
    void finish() override;
    /// Drops the collected buffers: the operation is rolled back, so they stay allocated.
    void drop() noexcept override { collected_.clear(); }

    /// Where the content of `buffer` lies in the segment whose addresses are `range`.
    [[nodiscard]] static const std::byte* locate(const address_space::range& range,
                                                 buffer_handle buffer) noexcept {
        const auto base = reinterpret_cast<const std::byte*>(range.base);
        const std::size_t length = buffer.length();
        if (length > largest_class)
            return base + (first_window + class_count) * range.window_bytes +
                   std::size_t{buffer.slot()} * page_runs::page_bytes;
        const std::size_t c = class_of(length);
        return base + (first_window + c) * range.window_bytes + window_header::page_bytes +
               std::size_t{buffer.slot()} * bytes_of_class(c);
    }

    /// How the bytes of all these files are used, of one class, of the page runs.
    [[nodiscard]] usage measure() const noexcept;
    [[nodiscard]] usage measure_class(std::size_t c) const noexcept;
    [[nodiscard]] usage measure_runs() const noexcept { return runs_->measure(); }
    /// First half of giving space back: sorts the free lists, and removes free tails from the used
    /// parts. Requires an operation, and that nothing can be undone. Throws std::bad_alloc,
    /// out_of_space_error when the log cannot grow, damaged_error when a free list is corrupt; the
    /// operation must then fail.
    void prepare_trim();
    /// Second half, after the operation of prepare_trim() completed, so that a kill in between only
    /// leaves the files longer: truncates the unused ends and punches whole free pages, except the
    /// page of a free slot's first word, which links the free list. Throws io_error.
    void trim();
    /// Writes every page to storage and waits for it. Throws io_error.
    void sync();

    /// The windows of all classes and of the runs, in order.
    template <typename Visitor>
    void each_window(Visitor&& visit) {
        for (const auto& c : classes_)
            visit(c->file);
        visit(runs_->file());
    }
    template <typename Visitor>
    void each_window(Visitor&& visit) const {
        for (const auto& c : classes_)
            visit(std::as_const(c->file));
        visit(std::as_const(*runs_).file());
    }

private:
    struct size_class {
        size_class(window&& opened, bool create);
        /// Where a slot begins in the file.
        [[nodiscard]] std::size_t offset_of(slot_number slot) const noexcept {
            return window_header::page_bytes + std::size_t{slot} * file.header().slot_bytes;
        }
        window file;
        pool_state& state;
        pool slots;
        root_block root;
    };

    void touch(size_class& c);
    void prepare_trim(size_class& c);
    static void trim(size_class& c);
    void collect(std::span<const std::byte> values, const buffer_layout& of);
    /// Throws damaged_error when the buffer lies beyond the used part.
    void require_used(buffer_handle buffer) const;
    void free_now(buffer_handle buffer);

    write_barrier* barrier_ = nullptr;
    std::array<std::unique_ptr<size_class>, class_count> classes_;
    std::unique_ptr<page_runs> runs_;
    std::vector<buffer_handle> collected_;
};

} // namespace chainbase
