#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::sink {

/// What a column holds. README.md says which SQL types these are.
enum class column_kind : std::uint8_t {
    boolean,
    small,   ///< an integer of 16 bits
    integer, ///< of 32 bits
    big,     ///< of 64 bits
    numeric, ///< a longer one
    real32,
    real64,
    text,
    bytes, ///< also the bytes of a text that is none; NULL if it is
    list,  ///< of one of the kinds boolean to real64, `of`
    json,
};

/// A column of a table.
struct column {
    std::string name; ///< in SQL, without quotation marks; at most 63 bytes
    column_kind kind = column_kind::text;
    column_kind of = column_kind::big; ///< of the elements of a list
    bool is_wide = false;              ///< an integer of 128 bits
    bool is_nullable = false;          ///< NAME.bytes of a text
    bool is_long = false;              ///< a text, or bytes, of which an index has the begin only
    std::string description;           ///< the type in the catalogue's words, for a comment
};

/// A value of a column. Texts and bytes refer to a record, or to the row_values that made it.
struct value {
    enum class kind : std::uint8_t { null, boolean, integer, real, text, bytes, list };

    kind what = kind::null;
    bool is_negative = false;        ///< of an integer
    unsigned __int128 magnitude = 0; ///< of an integer; of a boolean 0 or 1
    double real = 0;
    std::string_view text; ///< of a text or json; of a list, if it is one in JSON
    std::span<const std::byte> bytes;
    std::vector<value> elements; ///< the first `count` of a list
    std::size_t count = 0;

    /// Requires an integer that fits.
    [[nodiscard]] std::int64_t as_int64() const noexcept {
        const auto low = static_cast<std::uint64_t>(magnitude);
        return static_cast<std::int64_t>(is_negative ? 0 - low : low);
    }
    /// Of an integer, decimal.
    [[nodiscard]] std::string digits() const;
};

/// An index of a table.
struct table_key {
    struct part {
        std::size_t column;
        bool is_descending;
    };
    std::string name;        ///< TYPE.KEY as a column's; no two of a table are the same
    std::vector<part> parts; ///< those that are columns to order by; never empty
};

/// The table of a type.
///
/// Immutable; thread-safe.
class table {
public:
    /// Throws damaged_error when the catalogue does not fit itself; usage_error when two columns
    /// have one name.
    explicit table(const type_schema& schema);

    [[nodiscard]] const std::string& type() const noexcept { return type_; }
    /// In SQL, without quotation marks.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// The first one is the id, of kind big. The others are the members of the record in order.
    [[nodiscard]] const std::vector<column>& columns() const noexcept { return columns_; }
    [[nodiscard]] const std::vector<table_key>& keys() const noexcept { return keys_; }
    /// The number of the column of this name, of any length. Throws usage_error listing those
    /// there are.
    [[nodiscard]] std::size_t column_called(std::string_view name) const;
    /// FNV-1a of the record's layout, which records begin with in state digests
    /// (described_record::fingerprint).
    [[nodiscard]] std::uint32_t fingerprint() const noexcept { return fingerprint_; }

private:
    friend class row_values;
    friend class row_record;

    void add(const rows::value_type& type, const std::string& name);
    void add_scalar(const rows::value_type& type, column as);
    void add_keys(const type_schema& schema);

    std::string type_;
    std::string name_;
    std::vector<column> columns_;
    std::vector<table_key> keys_;
    std::uint32_t fingerprint_ = 0;
    /// Of the record, in order: what has a column, or as a text two.
    std::vector<rows::value_type::member> leaves_;
};

/// How row_values gives a list, and `json` is how chainbase-inspect prints it.
enum class list_form : std::uint8_t { elements, json };

/// Reads records of a type as rows. One thread at a time; the table outlives it.
class row_values {
public:
    explicit row_values(const table& of, list_form lists = list_form::elements);
    ~row_values();
    row_values(row_values&&) noexcept;

    /// One value for each column; valid until the next call, and as long as the record. Throws
    /// damaged_error naming type and field when it is no record of the type. Does not look at the
    /// fingerprint.
    [[nodiscard]] const std::vector<value>& read(archive::bytes_view record);

private:
    struct reader;
    std::unique_ptr<reader> reader_;
};

/// Makes records of rows: the other way round. One thread at a time; the table outlives it.
class row_record {
public:
    explicit row_record(const table& of);
    ~row_record();
    row_record(row_record&&) noexcept;

    /// The record, with the table's fingerprint; valid until the next call. A list may be in either
    /// form. Throws damaged_error naming table and column when a value is not one that read()
    /// gives.
    [[nodiscard]] archive::bytes_view make(std::span<const value> row);

private:
    class json_field;
    struct writer;
    std::unique_ptr<writer> writer_;
};

/// A name as an SQL identifier of at most 63 bytes (README.md, "Tables"), without quotation marks.
/// The same in every version.
[[nodiscard]] std::string sql_name(std::string_view name);
/// A name within quotation marks, doubled where it has them. (By value, as std::quoted() would be
/// called with a reference.)
[[nodiscard]] std::string quoted(std::string name);
/// A text as an SQL literal, for comments and what no parameter can be. Requires that the server
/// has standard_conforming_strings on, which is its default; a link sets it.
[[nodiscard]] std::string literal(std::string_view text);

/// Whether a type has a table: all but the bookkeeping of archives and of the root, by name
/// (inspect::why_bookkeeping).
[[nodiscard]] bool has_table(std::string_view type);

} // namespace chainbase::sink
