#pragma once

#include <archive/record/bytes.hpp>
#include <tools/sink/table/table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chainbase::sink::postgres {

/// The number of an SQL type in pg_type: the same in all servers.
using type_number = std::uint32_t;

/// Of a column that is no list, or of an element of one.
[[nodiscard]] type_number type_of(column_kind kind) noexcept;
/// Of an array of those.
[[nodiscard]] type_number array_of(column_kind kind) noexcept;
/// Of a column.
[[nodiscard]] type_number type_of(const column& of) noexcept;

/// How many bytes an element takes in an array's binary form, without its length; 0: it varies.
[[nodiscard]] std::size_t width_of(column_kind kind) noexcept;

/// Appends a value as COPY and arrays have it: a length of four bytes, and the binary form; of null
/// the length -1. Requires a value of that kind.
void append_scalar(archive::byte_buffer& to, column_kind kind, const value& from);
/// As append_scalar(), also of a list.
void append_value(archive::byte_buffer& to, const column& of, const value& from);
/// A list of the kinds boolean to numeric as a text, which casts to the array.
[[nodiscard]] std::string text_of_list(column_kind kind, const value& from);

/// The value of a column, of the binary form that the server sent; null: none. Texts and bytes
/// refer to it. Returns what is wrong, if the sink did not write it; empty if nothing is.
[[nodiscard]] std::string decode(const column& of, const std::byte* bytes, std::size_t size,
                                 bool is_null, value& to);

/// The elements of an array that is a parameter, one after the other.
class array_parameter {
public:
    explicit array_parameter(column_kind of) : kind_(of) { clear(); }

    void clear();
    /// Requires a value of the kind, or null.
    void add(const value& one);
    void add_number(std::int64_t number); ///< of the kind big
    void add_text(std::string_view text); ///< of the kind text
    void add_null();
    /// Appends the elements of a list of this kind.
    void add_elements(const value& list);

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] type_number type() const noexcept { return array_of(kind_); }
    /// The parameter's binary form; valid until the next change.
    [[nodiscard]] archive::bytes_view bytes();

private:
    column_kind kind_;
    archive::byte_buffer bytes_;
    std::size_t count_ = 0;
    bool has_nulls_ = false;
};

} // namespace chainbase::sink::postgres
