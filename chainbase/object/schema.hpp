#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase {

/// The layout of a type in the segment, as text: enough to name the difference to another layout,
/// and to read objects without the program's headers.
struct type_schema {
    struct field {
        std::string name;
        /// "u32", "i64", "id", "fixed_string<16>", "shared_string", "u64[4]", "{amount i64, unit
        /// u32}" for a described struct, "bytes<12>" for what is not described.
        std::string type;
        std::uint32_t offset = 0;
        std::uint32_t bytes = 0;
        /// "bytes<16>", the older name of 128-bit integers, equals "i128" and "u128".
        friend bool operator==(const field& a, const field& b);
    };
    struct part {
        /// Name of the field; "function" for a computed part, "function(NAME)" for a field that a
        /// function of the program orders or hashes.
        std::string field;
        bool descending = false;
        friend bool operator==(const part&, const part&) = default;
    };
    struct key {
        std::string name;
        std::string kind; ///< name_of(key_kind)
        std::vector<part> parts;
        friend bool operator==(const key&, const key&) = default;
    };

    std::string name;
    std::uint32_t value_bytes = 0;
    std::uint32_t node_bytes = 0;
    std::uint32_t link_bytes = 0;
    std::uint32_t value_offset = 0; ///< of the value within the node
    std::uint32_t root_bytes = 0;   ///< of the root block
    std::uint32_t tables = 0;       ///< hashed keys
    std::vector<field> fields;
    std::vector<key> keys;

    friend bool operator==(const type_schema&, const type_schema&) = default;

    /// How many of the keys are btree keys.
    [[nodiscard]] std::uint32_t btrees() const;
    /// How many windows the type has, and the names of their files in order: of its objects, its
    /// ids, each hashed key, each btree key.
    [[nodiscard]] std::uint64_t windows() const { return std::uint64_t{2} + tables + btrees(); }
    [[nodiscard]] std::vector<std::string> files() const;

    /// A 64-bit hash of everything above, equal on every compiler.
    [[nodiscard]] std::uint64_t hash() const;
    /// The first difference to `other`, as "field balance: type i64 there, i32 here"; empty if
    /// none.
    [[nodiscard]] std::string difference(const type_schema& other) const;
};

namespace detail {

/// The name of `Type` in a `__PRETTY_FUNCTION__` that ends with "[with Type = NAME]" (GCC) or
/// "[Type = NAME]" (Clang).
[[nodiscard]] std::string name_of_type(std::string_view function);

/// Throws usage_error: the first member of `type` that is not described in its turn.
[[noreturn]] void throw_other_order(const std::string& type, const char* member);

} // namespace detail

} // namespace chainbase
