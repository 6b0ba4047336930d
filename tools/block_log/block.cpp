#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block.hpp>
#include <tools/block_log/bytes.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>

namespace chainbase {
namespace {

constexpr std::size_t typical_operation = 16; ///< bytes, with its length

transaction decode_transaction(byte_reader& reader) {
    transaction result;
    const std::size_t count = reader.count();
    result.operations.reserve(reader.likely(count, typical_operation));
    for (std::size_t i = 0; i < count; ++i) {
        const byte_view encoded = reader.byte_string();
        result.operations.emplace_back(encoded.begin(), encoded.end());
    }
    return result;
}

} // namespace

// --- bytes.hpp ---

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

// --- block.hpp ---

bytes encode_block(const block& value) {
    bytes result;
    byte_writer writer(result);
    writer.unsigned_number(value.number);
    writer.signed_number(value.timestamp);
    writer.unsigned_number(value.transactions.size());
    for (const transaction& part : value.transactions) {
        writer.unsigned_number(part.operations.size());
        for (const bytes& operation : part.operations)
            writer.byte_string(operation);
    }
    return result;
}

std::uint64_t checksum_of(const block& value) {
    return checksum(encode_block(value));
}

block decode_block(byte_view encoded) {
    byte_reader reader(encoded, "a block");
    block result;
    result.number = reader.unsigned_number();
    reader.rename("block " + std::to_string(result.number));
    result.timestamp = reader.signed_number();
    const std::size_t count = reader.count();
    result.transactions.reserve(reader.likely(count, typical_operation));
    for (std::size_t i = 0; i < count; ++i)
        result.transactions.push_back(decode_transaction(reader));
    reader.finish();
    return result;
}

block_id next_id(const block_id& parent, std::uint64_t checksum) noexcept {
    const std::array<std::uint64_t, 3> hashed{parent.high, parent.low, checksum};
    const XXH128_hash_t sum = XXH3_128bits(hashed.data(), sizeof hashed);
    return {sum.high64, sum.low64};
}

std::string to_string(const block_id& id) {
    std::array<char, 33> text;
    std::snprintf(text.data(), text.size(), "%016llx%016llx",
                  static_cast<unsigned long long>(id.high),
                  static_cast<unsigned long long>(id.low));
    return text.data();
}

} // namespace chainbase
