#pragma once

#include <chainbase/checkpoint/publication.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::checkpoint {

/// Where the pages of one file of the segment are in `pages`, as its last publication says and the
/// next one will. Stored as leaves of 256 pages, of which those are written again that changed.
class page_table {
public:
    static constexpr std::size_t pages_of_a_leaf = 256;

    page_table() = default;
    /// Of a publication. Throws damaged_error.
    page_table(const publication::file& from, const slot_file& slots);

    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_.size(); }
    [[nodiscard]] const std::vector<placed_page>& all() const noexcept { return pages_; }
    [[nodiscard]] const std::vector<placed_page>& leaves() const noexcept { return leaves_; }
    /// Of a page beyond the last one: one of zeros.
    [[nodiscard]] placed_page at(std::uint64_t page) const noexcept {
        return page < pages_.size() ? pages_[page] : placed_page{};
    }

    /// Makes it as long as the file; `replaced` gets the slots of what is cut. Throws
    /// std::bad_alloc.
    void resize(std::uint64_t pages, std::vector<slot>& replaced);
    void set(std::uint64_t page, placed_page to) noexcept;

    /// How many leaves changed since they were written.
    [[nodiscard]] std::uint64_t changed_leaves() const noexcept;
    /// Writes what changed to slots of its own; `replaced` gets those that had it. Requires
    /// changed_leaves() reserved ones.
    void write_leaves(slot_file& to, std::vector<slot>& replaced);

private:
    std::vector<placed_page> pages_;
    std::vector<placed_page> leaves_;
    std::vector<bool> changed_; ///< by leaf
};

} // namespace chainbase::checkpoint
