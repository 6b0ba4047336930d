#pragma once

#include <archive/bytes.hpp>
#include <archive/detail/integers.hpp>

#include <string>
#include <typeinfo>

namespace chainbase::archive::detail {

/// Where in a record a value stands, as a chain on the stack: costs two pointers per field and is
/// read only when something is wrong.
struct field_path {
    const field_path* outer;
    const char* name;
};

/// A position in a record's bytes that cannot leave them.
class record_reader {
public:
    record_reader(bytes_view record, const std::type_info& type, std::size_t at) noexcept
        : record_(record), type_(&type), at_(at) {}

    /// Returns the next `count` bytes and steps over them; throws damaged_error when fewer are
    /// left.
    const std::byte* take(std::size_t count, const field_path& path) {
        if (count > left()) fail_short(path, count);
        const std::byte* from = record_.data() + at_;
        at_ += count;
        return from;
    }

    template <integer V>
    V take_integer(const field_path& path) {
        return load_little<V>(take(sizeof(V), path));
    }

    [[nodiscard]] std::size_t left() const noexcept { return record_.size() - at_; }
    [[nodiscard]] std::size_t position() const noexcept { return at_; }
    [[nodiscard]] bytes_view record() const noexcept { return record_; }

    /// Throws damaged_error with type, field, offset and reason.
    [[noreturn]] void fail(const field_path& path, const std::string& reason) const;

private:
    [[noreturn]] void fail_short(const field_path& path, std::size_t count) const;

    bytes_view record_;
    const std::type_info* type_;
    std::size_t at_;
};

/// Throws schema_error: the record was written with another layout than `layout`.
[[noreturn]] void fail_schema(const std::type_info& type, std::uint32_t found,
                              std::uint32_t expected, const std::string& layout);

/// Throws limit_error: a text or sequence has more elements than 32 bits can count.
[[noreturn]] void fail_length(std::size_t size);

} // namespace chainbase::archive::detail
