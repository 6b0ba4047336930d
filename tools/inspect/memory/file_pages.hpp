#pragma once

#include <pool_allocator/window.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace chainbase::inspect {

/// Reads the file of a window, page by page. It keeps some of the last pages, since neighbours in a
/// free list are often neighbours in the file, too. Not thread-safe.
class file_pages {
public:
    static constexpr std::size_t page_bytes = window_header::page_bytes;

    /// `file` outlives it.
    explicit file_pages(const window& file) : file_(file), kept_(lines * page_bytes) {
        numbers_.fill(none);
    }

    /// What lies at an offset; it does not cross the end of a page. Throws io_error.
    template <typename T>
    [[nodiscard]] T at(std::uint64_t offset) {
        T copy;
        std::memcpy(&copy, page(offset / page_bytes) + offset % page_bytes, sizeof copy);
        return copy;
    }

    /// Calls visit(offset, entry) for the entries in [begin, end), in order. Throws io_error.
    template <typename Entry, typename Visitor>
    void each(std::uint64_t begin, std::uint64_t end, Visitor&& visit) {
        std::vector<Entry> block(block_bytes / sizeof(Entry));
        while (begin < end) {
            const std::uint64_t length = std::min<std::uint64_t>(block_bytes, end - begin);
            file_.read(begin, std::as_writable_bytes(std::span(block)).first(length));
            for (std::size_t i = 0; i < length / sizeof(Entry); ++i)
                visit(begin + i * sizeof(Entry), block[i]);
            begin += length;
        }
    }

private:
    static constexpr std::size_t lines = 256;
    static constexpr std::size_t block_bytes = std::size_t{256} << 10;
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    const std::byte* page(std::uint64_t number) {
        const std::size_t line = number % lines;
        std::byte* const place = kept_.data() + line * page_bytes;
        if (numbers_[line] == number) return place;
        numbers_[line] = none;
        file_.read(number * page_bytes, {place, page_bytes});
        numbers_[line] = number;
        return place;
    }

    const window& file_;
    std::vector<std::byte> kept_;
    std::array<std::uint64_t, lines> numbers_;
};

} // namespace chainbase::inspect
