#pragma once

#include <tools/block_log/block_log_format.hpp>

#include <cstring>
#include <string>

namespace chainbase::test {

/// Bytes of which so many stretches look like a record of about `bytes` bytes, with a header and a
/// trailer that lead to each other, and none is one: what a search has to sum up, one by one.
inline std::string seeming_records(std::size_t count, std::size_t bytes) {
    using namespace block_log_format;
    const std::size_t headers = count * sizeof(record_header);
    const std::size_t trailers = headers + bytes;
    std::string result(trailers + count * sizeof(record_trailer), '\x7f');
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = i * sizeof(record_header);
        const std::size_t end = trailers + (i + 1) * sizeof(record_trailer);
        record_header header;
        header.magic = record_magic;
        header.packed_bytes = static_cast<std::uint32_t>(end - begin - min_record_bytes);
        header.unpacked_bytes = 100;
        header.blocks = 1;
        header.first_number = header.last_number = 7;
        std::memcpy(result.data() + begin, &header, sizeof header);
        record_trailer trailer;
        trailer.record_bytes = static_cast<std::uint32_t>(end - begin);
        trailer.magic = record_end_magic;
        trailer.checksum = 0;
        std::memcpy(result.data() + end - sizeof trailer, &trailer, sizeof trailer);
    }
    return result;
}

} // namespace chainbase::test
