#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace chainbase::test {

/// FNV-1a over the logical content of objects.
class digest {
public:
    void add(std::string_view bytes) noexcept {
        add(bytes.size());
        for (const char c : bytes)
            value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
    }
    template <typename Number>
        requires std::is_integral_v<Number>
    void add(Number number) noexcept {
        value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x100'0000'01B3U;
        value_ ^= value_ >> 29;
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0xCBF2'9CE4'8422'2325U;
};

} // namespace chainbase::test
