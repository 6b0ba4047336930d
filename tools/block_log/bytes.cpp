#include <pool_allocator/error.hpp>
#include <tools/block_log/bytes.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase {

std::uint64_t checksum(byte_view data) noexcept {
    return XXH3_64bits(data.data(), data.size());
}

std::uint64_t byte_reader::long_number(std::uint64_t most) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (remaining() == 0) fail("ends in the middle of a value");
        const auto part = std::to_integer<std::uint64_t>(input_[position_++]);
        if (shift == 63 && part > 1) fail("a number longer than 64 bits");
        if (shift > 0 && part == 0) fail("a number that is not in its shortest form");
        value |= (part & 0x7f) << shift;
        if (part < 0x80) break;
    }
    if (value > most) fail("number " + std::to_string(value) + " is out of range");
    return value;
}

void byte_reader::fail(const std::string& reason) const {
    throw damaged_error(name_ + ": byte " + std::to_string(position_) + " of " +
                        std::to_string(input_.size()) + ": " + reason);
}

} // namespace chainbase
