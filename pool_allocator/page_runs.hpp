#pragma once

#include <pool_allocator/pool.hpp>

#include <cstddef>
#include <cstdint>

namespace chainbase {

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
    /// Throws out_of_space_error, limit_error; then nothing but the log changed.
    [[nodiscard]] slot_number allocate(std::uint32_t pages);
    /// Gives back a run that allocate returned, or the begin or end of one. Throws
    /// out_of_space_error when the log cannot grow; the operation must then fail.
    void free(slot_number first, std::uint32_t pages);

    [[nodiscard]] std::byte* address(slot_number page) const noexcept {
        return file_.base() + std::size_t{page} * page_bytes;
    }
    [[nodiscard]] window& file() noexcept { return file_; }
    /// Where the file's bytes are; slots are pages, the header page not counted.
    [[nodiscard]] usage measure() const noexcept;
    /// Takes a free run at the end out of the used part. Requires an operation, and that nothing
    /// can be undone. Throws out_of_space_error when the log cannot grow.
    void settle();
    /// Cuts what is not used and punches free pages, after the operation of settle is complete.
    /// Throws io_error.
    void trim();

private:
    /// The root block.
    ///
    ///     0  first_free   4   first page of the lowest free run, 0 if there is none
    ///     4  end          4   pages at or above were never used
    ///     8  live         4   pages in use
    struct state {
        slot_number first_free;
        slot_number end;
        slot_number live;
    };
    static_assert(sizeof(state) == 12 && offsetof(state, end) == 4 && offsetof(state, live) == 8);
    /// The begin of a free run.
    ///
    ///     0  next    4   first page of the next free run, 0 if this is the last one
    ///     4  pages   4   its length
    struct free_run {
        slot_number next;
        std::uint32_t pages;
    };
    static_assert(sizeof(free_run) == 8 && offsetof(free_run, pages) == 4);

    [[nodiscard]] state& words() const noexcept { return *reinterpret_cast<state*>(file_.root()); }
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
    [[nodiscard]] place find_free(std::uint32_t pages) const noexcept;
    [[nodiscard]] place last_free() const noexcept;
    slot_number append(std::uint32_t pages);
    void touch();

    window file_;
    write_barrier* barrier_ = nullptr;
    root_block root_;
};

} // namespace chainbase
