#pragma once

#include <archive/bytes.hpp>
#include <archive/detail/integers.hpp>

#include <cstddef>
#include <iterator>
#include <string>
#include <typeinfo>

namespace chainbase::archive {

/// The elements of a sequence within a record, decoded one by one when they are asked for: they
/// stand there without alignment and in the record's byte order. Owns nothing; valid as long as the
/// record's bytes. Cheap to copy.
template <typename E>
class packed_sequence {
public:
    using decoder = E (*)(const std::byte*);

    packed_sequence(bytes_view bytes, std::size_t element_size, decoder decode) noexcept
        : bytes_(bytes), element_size_(element_size), decode_(decode) {}

    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / element_size_; }
    [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

    /// Requires i < size(). Throws damaged_error when the element holds a bool that is none.
    [[nodiscard]] E operator[](std::size_t i) const {
        return decode_(bytes_.data() + i * element_size_);
    }

    class iterator {
    public:
        using value_type = E;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;

        iterator() = default;
        iterator(const packed_sequence* sequence, std::size_t at) : sequence_(sequence), at_(at) {}
        E operator*() const { return (*sequence_)[at_]; }
        iterator& operator++() {
            ++at_;
            return *this;
        }
        iterator operator++(int) {
            iterator before = *this;
            ++at_;
            return before;
        }
        friend bool operator==(const iterator&, const iterator&) = default;

    private:
        const packed_sequence* sequence_ = nullptr;
        std::size_t at_ = 0;
    };

    [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {this, size()}; }

private:
    bytes_view bytes_;
    std::size_t element_size_;
    decoder decode_;
};

} // namespace chainbase::archive

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
