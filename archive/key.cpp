#include <archive/key.hpp>

namespace chainbase::archive::detail {

void append_text(byte_buffer& buffer, std::string_view text) {
    buffer.reserve(buffer.size() + text.size() + 2);
    for (const std::byte byte : as_bytes(text)) {
        buffer.push_back(byte);
        if (byte == std::byte{0}) buffer.push_back(std::byte{0xff});
    }
    buffer.push_back(std::byte{0});
    buffer.push_back(std::byte{1});
}

void complement(byte_buffer& buffer, std::size_t start) noexcept {
    for (std::size_t i = start; i < buffer.size(); ++i)
        buffer[i] = ~buffer[i];
}

} // namespace chainbase::archive::detail
