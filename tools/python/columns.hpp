#pragma once

#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::python {

/// Bytes that grow without being cleared first, and can be given to somebody else.
class growing_bytes {
public:
    struct free_bytes {
        void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
    };
    using owned = std::unique_ptr<std::byte, free_bytes>;

    [[nodiscard]] const std::byte* data() const noexcept { return bytes_.get(); }
    [[nodiscard]] std::byte* data() noexcept { return bytes_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Makes room for `more` bytes behind the last one, and returns where they begin; their content
    /// is undefined. Throws std::bad_alloc.
    std::byte* extend(std::size_t more);
    void append(const std::byte* from, std::size_t bytes);
    /// Makes room for so many, if there is.
    void reserve(std::size_t bytes) noexcept;
    /// What was appended; nothing is left.
    [[nodiscard]] owned release() noexcept;

private:
    owned bytes_;
    std::size_t size_ = 0;
    std::size_t room_ = 0;
};

/// The values of a field of many objects, or of a member of a struct in it, one behind the other.
///
/// One thread at a time.
class column {
public:
    /// Whom it is for: NumPy has fixed texts as bytes of fixed length, Arrow has all texts behind
    /// one another.
    enum class form { numpy, arrow };
    enum class kind {
        fixed,     ///< `width` bytes each
        text,      ///< of any length
        list,      ///< each any number of the child's values
        array,     ///< each `count` of the child's values
        structure, ///< each one of every child
    };

    column(std::string name, rows::value_type type, std::uint32_t offset, form as);

    /// Those of an object: a struct that is a field is a column for each member, called "a.b".
    /// `names`: only these fields, structs or members, in this order; empty: all. Throws
    /// usage_error naming one that is missing, damaged_error for a field that is not within the
    /// object.
    [[nodiscard]] static std::vector<column> of(const type_schema& schema,
                                                const std::vector<std::string>& names, form as);

    /// Columns of as many rows as one of structs.
    [[nodiscard]] static column together(std::vector<column> members);

    /// Appends the values of objects. Throws damaged_error naming the column when a text or a
    /// vector is in no buffer; then they are of no use any more.
    void append(std::span<const std::byte* const> objects, const rows::buffer_source& buffers);
    /// Makes room for as many values, where that is known.
    void reserve(std::size_t rows);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const rows::value_type& type() const noexcept { return type_; }
    [[nodiscard]] kind what() const noexcept { return what_; }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
    /// Of an array.
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// Whether it has texts, and not just bytes.
    [[nodiscard]] bool is_text() const noexcept;
    [[nodiscard]] std::vector<column>& children() noexcept { return children_; }
    [[nodiscard]] const std::vector<column>& children() const noexcept { return children_; }
    /// Of a fixed column its values, of texts their bytes.
    [[nodiscard]] growing_bytes& values() noexcept { return values_; }
    [[nodiscard]] const growing_bytes& values() const noexcept { return values_; }
    /// Of texts and lists: where each begins, and where the last one ends.
    [[nodiscard]] std::vector<std::int64_t>& offsets() noexcept { return offsets_; }
    [[nodiscard]] const std::vector<std::int64_t>& offsets() const noexcept { return offsets_; }
    /// Of memory.
    [[nodiscard]] std::size_t bytes() const noexcept;

private:
    void append_one(const std::byte* at, const rows::buffer_source& buffers);
    void append_run(const std::byte* first, std::size_t count, std::size_t stride,
                    const rows::buffer_source& buffers);
    [[nodiscard]] std::span<const std::byte> content(const std::byte* at,
                                                     const rows::buffer_source& buffers) const;

    std::string name_;
    rows::value_type type_;
    std::uint32_t offset_; ///< in what holds it
    kind what_ = kind::fixed;
    std::uint32_t width_ = 0;
    std::uint32_t count_ = 0;
    std::size_t rows_ = 0;
    growing_bytes values_;
    std::vector<std::int64_t> offsets_;
    std::vector<column> children_;
};

} // namespace chainbase::python
