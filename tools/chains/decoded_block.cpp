#include <tools/block_log/bytes.hpp>
#include <tools/chains/decoded_block.hpp>

namespace chainbase {

namespace {

/// Bytes that a transaction of one operation takes in a block, about.
constexpr std::size_t usual_transaction = 16;

} // namespace

void decoded_block::read(byte_view encoded) {
    checksum_ = chainbase::checksum(encoded);
    bytes_ = encoded.size();
    byte_reader reader(encoded, "a block");
    number_ = reader.unsigned_number();
    reader.rename("block " + std::to_string(number_));
    timestamp_ = reader.signed_number();
    if (timestamp_ > last_timestamp)
        reader.fail("time " + std::to_string(timestamp_) + " is behind the year 9999");
    const std::size_t count = reader.count();
    const std::size_t likely = reader.likely(count, usual_transaction);
    parts_.reserve(likely);
    expect(likely); // most transactions are of one operation
    for (std::size_t i = 0; i < count; ++i)
        read_transaction(reader);
    reader.finish();
    memory_ = bytes_ + parts_.capacity() * sizeof(part) + own_memory();
}

void decoded_block::read_transaction(byte_reader& reader) {
    const byte_view rest = reader.rest();
    const std::size_t count = reader.count();
    for (std::size_t i = 0; i < count; ++i)
        try_add(reader.byte_string(), i);
    const byte_view own = rest.first(rest.size() - reader.remaining());
    parts_.push_back({operations() + count, chainbase::checksum(own)});
}

void decoded_block::try_add(byte_view operation, std::size_t within) {
    if (malformed_) return;
    try {
        add(operation);
    } catch (const damaged_error& problem) {
        malformed_ = fault{parts_.size(), within, problem.what()};
    }
}

} // namespace chainbase
