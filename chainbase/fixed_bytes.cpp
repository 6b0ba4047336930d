#include <chainbase/fixed_bytes.hpp>
#include <pool_allocator/base/error.hpp>

namespace chainbase::detail {

std::string to_hex(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte one : bytes) {
        text += digits[std::to_integer<unsigned>(one) >> 4];
        text += digits[std::to_integer<unsigned>(one) & 15];
    }
    return text;
}

void parse_hex(std::string_view text, std::span<std::byte> bytes) {
    std::string_view left = text;
    if (left.starts_with("0x") || left.starts_with("0X")) left.remove_prefix(2);
    const auto digit = [&](char c) -> unsigned {
        if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
        if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
        if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
        throw usage_error("\"" + std::string(text) + "\": '" + c + "' is not a hexadecimal digit");
    };
    for (const char c : left)
        static_cast<void>(digit(c));
    if (left.size() != 2 * bytes.size())
        throw usage_error("\"" + std::string(text) + "\" has " + std::to_string(left.size()) +
                          " hexadecimal digits, " + std::to_string(2 * bytes.size()) +
                          " are needed for " + std::to_string(bytes.size()) + " bytes");
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(digit(left[2 * i]) << 4 | digit(left[2 * i + 1]));
}

void throw_other_length(std::size_t given, std::size_t wanted) {
    throw usage_error("fixed_bytes<" + std::to_string(wanted) + "> is made from " +
                      std::to_string(wanted) + " bytes, not from " + std::to_string(given));
}

} // namespace chainbase::detail
