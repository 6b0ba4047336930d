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

/// Runs of whole pages for buffers that no size class holds.
///
/// Free runs form a list in order of address, threaded through their first words {next, pages};
/// neighbours are merged. First fit: such buffers are rare and large, so the walk is short against
/// the copy. A free run keeps its pages until settle() and trim() give back those at the end of the
/// file and, of others, all but the first one, which links the list.
///
/// One writer, in an operation.
class page_runs {
public:
    static constexpr std::size_t page_bytes = 4096;
    /// Page 0 is the window's header page, so a page number is an offset and 0 means none.
    static constexpr window::geometry geometry{window_kind::runs, page_bytes, 0};

    /// Takes over a window; writes the root block of a new one.
    page_runs(window&& opened, bool create);
    /// Lets operations of `barrier` change the runs; it outlives them. Throws std::bad_alloc.
    void attach(write_barrier& barrier);

    /// The first page of a run of `pages`, its old content logged as far as it was ever used.
    /// Throws out_of_space_error, limit_error, damaged_error when the list leads astray; then
    /// nothing but the log changed.
    [[nodiscard]] slot_number allocate(std::uint32_t pages);
    /// Gives back a run that allocate returned, or the begin or end of one. Throws
    /// out_of_space_error when the log cannot grow, damaged_error when that is no run or the list
    /// leads astray; the operation must then fail.
    void free(slot_number first, std::uint32_t pages);

    [[nodiscard]] std::byte* address(slot_number page) const noexcept {
        return file_.base() + std::size_t{page} * page_bytes;
    }
    [[nodiscard]] window& file() noexcept { return file_; }
    /// Where the file's bytes are; slots are pages, the header page not counted.
    [[nodiscard]] usage measure() const noexcept;
    /// Takes a free run at the end out of the used part. Requires an operation, and that nothing
    /// can be undone. Throws out_of_space_error when the log cannot grow, damaged_error.
    void settle();
    /// Cuts what is not used and punches free pages, after the operation of settle is complete.
    /// Throws io_error, damaged_error.
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
    /// The run that begins at `page`, if it is one of those in use or free, and those after it
    /// begin behind it: so a walk from run to run ends. Throws damaged_error.
    [[nodiscard]] free_run checked_run(slot_number page) const;
    [[noreturn]] void throw_astray(slot_number page, std::uint32_t pages) const;
    [[nodiscard]] place find_free(std::uint32_t pages) const;
    [[nodiscard]] place last_free() const;
    slot_number append(std::uint32_t pages);
    void touch();

    window file_;
    write_barrier* barrier_ = nullptr;
    root_block root_;
};

/// The buffers of strings and arrays: one pool per size class, shared by all types of a database,
/// and page runs for what is larger than the largest class.
///
/// Buffers are immutable: an assignment makes a new one and frees the old one. Freed buffers are
/// kept until their operation is complete, so that within it the old content can still be read.
/// Classes: 16, 32, 48 bytes, then 64 * 2^i and 96 * 2^i up to 64 KiB.
///
/// One writer, in an operation. Reading a buffer needs no lock beyond that of its object.
class size_classes {
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
    /// Lets operations of `barrier` change the buffers; it outlives them. Throws std::bad_alloc.
    void attach(write_barrier& barrier);

    /// Copies `content` into a new buffer. Requires an operation. Throws out_of_space_error,
    /// limit_error (content of 4 GiB or more).
    [[nodiscard]] buffer_handle allocate(std::span<const std::byte> content);
    /// Makes sure that the next free_later cannot fail. Throws std::bad_alloc.
    void expect_free();
    /// Frees a buffer when the operation completes. Throws std::bad_alloc; then nothing changed.
    void free_later(buffer_handle buffer);
    /// Frees what free_later collected. Throws out_of_space_error, damaged_error when that was
    /// never in use; the operation must then fail.
    void free_collected();
    /// Drops what free_later collected: the operation is rolled back, so the buffers live on.
    void forget_collected() noexcept { collected_.clear(); }

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

    /// Where the bytes of all these files are, of one class's, of the runs'.
    [[nodiscard]] usage measure() const noexcept;
    [[nodiscard]] usage measure_class(std::size_t c) const noexcept;
    [[nodiscard]] usage measure_runs() const noexcept { return runs_->measure(); }
    /// First half of giving space back: orders the free lists, and takes free tails out of the used
    /// parts. Requires an operation, and that nothing can be undone. Throws std::bad_alloc,
    /// out_of_space_error when the log cannot grow, damaged_error when a list of free slots leads
    /// astray; the operation must then fail.
    void settle();
    /// Second half, after the operation of settle is complete, so that a kill in between only
    /// leaves the files longer: cuts what is not used and punches whole free pages. In a class only
    /// those beyond a free slot's first word, which links the free list. Throws io_error.
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
    void settle(size_class& c);
    static void trim(size_class& c);
    void free_now(buffer_handle buffer);

    write_barrier* barrier_ = nullptr;
    std::array<std::unique_ptr<size_class>, class_count> classes_;
    std::unique_ptr<page_runs> runs_;
    std::vector<buffer_handle> collected_;
};

} // namespace chainbase
