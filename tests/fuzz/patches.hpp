#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace chainbase::test {

/// An input as changes of real files, so that every input of libFuzzer is valid, and small ones
/// reach deep code: a byte of flags, then patches of 5 bytes and their content.
///
///     0  file      1  which one, modulo their number
///     1  place     3  a page in the upper 12 bits, a byte of it in the lower ones
///     4  length    1  of the content that follows, modulo 33; 0: the file is cut here
class patches {
public:
    struct patch {
        std::uint8_t file;
        std::uint32_t page;
        std::uint32_t byte;
        std::span<const std::uint8_t> content;

        /// The first bytes of the content as a number.
        [[nodiscard]] std::uint64_t number() const noexcept {
            std::uint64_t value = 0;
            for (std::size_t i = 0; i < content.size() && i < sizeof value; ++i)
                value |= std::uint64_t{content[i]} << (8 * i);
            return value;
        }
    };

    patches(const std::uint8_t* data, std::size_t size) : rest_(data, size) {
        if (rest_.empty()) return;
        flags_ = rest_.front();
        rest_ = rest_.subspan(1);
    }

    [[nodiscard]] bool flag(unsigned bit) const noexcept { return (flags_ >> bit & 1) != 0; }
    [[nodiscard]] std::uint8_t flags() const noexcept { return flags_; }
    /// The rest where no patches follow.
    [[nodiscard]] std::span<const std::uint8_t> rest() const noexcept { return rest_; }

    [[nodiscard]] std::optional<patch> next() {
        if (rest_.size() < 5) return {};
        const std::uint32_t place = rest_[1] | rest_[2] << 8U | rest_[3] << 16U;
        patch one{rest_[0], place >> 12U, place & 4095U, {}};
        const std::size_t length = std::min<std::size_t>(rest_[4] % 33U, rest_.size() - 5);
        one.content = rest_.subspan(5, length);
        rest_ = rest_.subspan(5 + length);
        return one;
    }

private:
    std::uint8_t flags_ = 0;
    std::span<const std::uint8_t> rest_;
};

} // namespace chainbase::test
