#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstddef>
#include <cstdint>

namespace chainbase::test {

/// A block of so many transactions without operations, a byte each: what decodes to many times its
/// size.
inline bytes block_of_nothing(std::uint64_t number, std::int64_t time, std::size_t transactions) {
    bytes result;
    byte_writer writer(result);
    writer.unsigned_number(number);
    writer.signed_number(time);
    writer.unsigned_number(transactions);
    result.resize(result.size() + transactions);
    return result;
}

} // namespace chainbase::test
