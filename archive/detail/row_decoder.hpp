#pragma once

#include <archive/bytes.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/value_type.hpp>
#include <chainbase/schema.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::archive::detail {

/// Reads and makes the content of records (record.hpp, what follows the fingerprint) from the
/// catalogue's description of a type in place of the type. Numbers are the same in memory and in a
/// record; texts and arrays have their length before them.
class row_decoder {
public:
    /// `buffers` outlives it.
    row_decoder(const type_schema& schema, const rows::buffer_source& buffers);

    /// Why nothing can be said of contents: a field is not described. Empty if all are.
    [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
    /// What is wrong with the content of the row of object `id`; empty if nothing is, or nothing
    /// can be said.
    [[nodiscard]] std::string problem_of(bytes_view content, std::uint32_t id) const;
    /// The content of the record of an object in memory; nothing when it cannot be told.
    [[nodiscard]] std::optional<byte_buffer> encode(const std::byte* object) const;

private:
    struct field {
        std::string name;
        rows::field_type type;
        bool is_bool;
    };

    [[nodiscard]] bool append(const field& of, const std::byte* object, byte_buffer& to) const;

    std::vector<field> fields_;
    const rows::buffer_source& buffers_;
    std::string why_not_;
};

} // namespace chainbase::archive::detail
