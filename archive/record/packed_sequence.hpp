#pragma once

#include <archive/record/bytes.hpp>

#include <cstddef>
#include <iterator>

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
