#pragma once

#include <chainbase/keys.hpp>
#include <chainbase/rows/buffer_source.hpp>
#include <chainbase/rows/value_type.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::rows {

/// Compares and hashes objects by a key as the program does, as far as the catalogue describes its
/// parts.
class key_reader {
public:
    /// Throws damaged_error when a part is no field. `buffers` outlives it.
    key_reader(const type_schema& schema, const type_schema::key& key,
               const buffer_source& buffers);

    /// What of two objects comes first, by their leading parts, at most `leading`; nothing when
    /// that is not known: a part is not described, or refers to no buffer.
    [[nodiscard]] std::optional<std::strong_ordering>
    compare(const std::byte* a, const std::byte* b, std::size_t leading = SIZE_MAX) const;
    /// The 32 bits that a hash_table keeps.
    [[nodiscard]] std::optional<std::uint32_t> hash(const std::byte* object) const;

    /// The parts whose order is known, the leading ones.
    [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
    [[nodiscard]] const field_type& part_at(std::size_t number) const noexcept {
        return parts_[number].type;
    }
    [[nodiscard]] bool is_descending(std::size_t number) const noexcept {
        return parts_[number].is_descending;
    }
    /// Why the order is not or not always known; empty if it is.
    [[nodiscard]] const std::string& why_no_order() const noexcept { return why_no_order_; }
    [[nodiscard]] const std::string& why_no_hash() const noexcept { return why_no_hash_; }

private:
    struct part {
        field_type type;
        bool is_descending;
    };

    [[nodiscard]] std::optional<std::strong_ordering>
    compare_part(const field_type& type, const std::byte* a, const std::byte* b) const;
    [[nodiscard]] std::optional<std::string_view> text_of(const std::byte* handle) const;

    std::vector<part> parts_; ///< up to the first one that is not described
    const buffer_source& buffers_;
    std::string why_no_order_;
    std::string why_no_hash_;
};

} // namespace chainbase::rows
