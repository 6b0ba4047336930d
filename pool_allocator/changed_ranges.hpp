#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace chainbase {

/// Which bytes of an address space were announced to change, in the order of the announcements;
/// the same ones may come again. For who wants to know what a block changed.
///
/// Without memory, or when a change cannot be described by ranges (space was given back, a file
/// was made), the ranges are lost until clear(). Not thread-safe.
class changed_ranges {
public:
    /// In bytes from the begin of the address space.
    struct range {
        std::uint64_t offset;
        std::uint64_t bytes;
    };

    void add(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (cursor_ == end_ && !grow()) [[unlikely]]
            return;
        *cursor_++ = {offset, bytes};
    }
    /// The bytes are of no use to anybody until they are announced again, so they are not in all().
    void discard(std::uint64_t offset, std::uint64_t bytes) noexcept;
    void lose() noexcept;
    [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }
    [[nodiscard]] std::span<const range> all() const noexcept { return {ranges_.get(), cursor_}; }
    /// Begins again.
    void clear() noexcept;

private:
    bool grow() noexcept;

    std::unique_ptr<range[]> ranges_;
    range* cursor_ = nullptr;
    range* end_ = nullptr; ///< as long as they are lost, there is no room
    std::size_t capacity_ = 0;
    bool is_lost_ = false;
};

} // namespace chainbase
