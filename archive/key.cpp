#include <archive/key.hpp>

#include <array>

namespace chainbase::archive::detail {

void append_text(byte_buffer& buffer, std::string_view text) {
    constexpr std::array escaped{std::byte{0}, std::byte{0xff}};
    constexpr std::array end{std::byte{0}, std::byte{1}};
    for (std::size_t zero; (zero = text.find('\0')) != text.npos; text.remove_prefix(zero + 1)) {
        append(buffer, as_bytes(text.substr(0, zero)));
        append(buffer, escaped);
    }
    append(buffer, as_bytes(text));
    append(buffer, end);
}

void complement(byte_buffer& buffer, std::size_t start) noexcept {
    for (std::size_t i = start; i < buffer.size(); ++i)
        buffer[i] = ~buffer[i];
}

} // namespace chainbase::archive::detail
