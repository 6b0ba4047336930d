#include <tools/block_log/block.hpp>
#include <tools/block_log/byte_reader.hpp>
#include <tools/block_log/byte_writer.hpp>
#include <tools/block_log/checksum.hpp>

namespace chainbase {
namespace {

constexpr std::size_t usual_operation = 16; ///< bytes, with its length

transaction decode_transaction(byte_reader& reader) {
    transaction result;
    const std::size_t count = reader.count();
    result.operations.reserve(reader.likely(count, usual_operation));
    for (std::size_t i = 0; i < count; ++i) {
        const byte_view encoded = reader.byte_string();
        result.operations.emplace_back(encoded.begin(), encoded.end());
    }
    return result;
}

} // namespace

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
    result.transactions.reserve(reader.likely(count, usual_operation));
    for (std::size_t i = 0; i < count; ++i)
        result.transactions.push_back(decode_transaction(reader));
    reader.finish();
    return result;
}

} // namespace chainbase
