#pragma once

#include <pool_allocator/pool.hpp>

#include <cstddef>

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

    page_runs(window&& opened, bool create);
    void attach(write_barrier& barrier);

    /// The first page of a run of `pages`, its old content logged as far as it was ever used.
    /// Throws out_of_space_error, limit_error; then nothing but the log changed.
    [[nodiscard]] slot_number allocate(std::uint32_t pages);
    /// Throws out_of_space_error when the log cannot grow; the operation must then fail.
    void free(slot_number first, std::uint32_t pages);

    [[nodiscard]] std::byte* address(slot_number page) const noexcept {
        return file_.base() + std::size_t{page} * page_bytes;
    }
    [[nodiscard]] window& file() noexcept { return file_; }
    [[nodiscard]] usage measure() const noexcept;
    /// Takes a free run at the end out of the used part. Requires an operation, and that nothing
    /// can be undone. Throws out_of_space_error when the log cannot grow.
    void settle();
    /// Cuts what is not used and punches free pages, after the operation of settle is complete.
    /// Throws io_error.
    void trim();

private:
    struct state {
        slot_number first_free;
        slot_number end; ///< pages at or above were never used
        slot_number live;
    };
    struct free_run {
        slot_number next;
        std::uint32_t pages;
    };

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
