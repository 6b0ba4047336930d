#pragma once

#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/offline/check/report.hpp>
#include <chainbase/segment/segment_header.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace chainbase::check {

/// Bytes of a file, from the first to the last one that differ.
struct altered_bytes {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

/// Compares the pages of a segment that was closed with the sums that the checkpoint made then has
/// of them, so that any flip is found, whatever it means.
///
/// Reads files, not memory: a hole that is read through memory is filled.
class page_check {
public:
    /// Of the checkpoint that `header` names. `to` outlives it. Throws error, which says that it
    /// cannot be read.
    page_check(disk& on, const std::filesystem::path& state, const segment_header& header,
               part_report& to);

    /// Adds a finding for each page that differs. Null: of a file that could not be opened.
    std::vector<altered_bytes> compare(const window* file);
    /// That were compared.
    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }

private:
    [[nodiscard]] static checkpoint::publication
    named_by(disk& on, const std::filesystem::path& state, const segment_header& header);
    [[nodiscard]] std::uint64_t
    sum_of(std::span<const std::byte, checkpoint::page_bytes> content) const;
    altered_bytes compare_page(const window& file, std::uint64_t page,
                               std::span<const std::byte, checkpoint::page_bytes> now,
                               const checkpoint::placed_page& then);

    part_report& to_;
    checkpoint::publication saved_;
    checkpoint::slot_file slots_;
    std::uint64_t of_zeros_; ///< their sum
    std::uint64_t pages_ = 0;
};

} // namespace chainbase::check
