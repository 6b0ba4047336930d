// Any bytes as an encoded block: what decodes encodes to the same bytes.

#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block.hpp>

#include <algorithm>
#include <cstdlib>
#include <span>

using namespace chainbase;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const byte_view input = std::as_bytes(std::span(data, size));
    try {
        if (!std::ranges::equal(encode_block(decode_block(input)), input)) std::abort();
    } catch (const damaged_error&) { // expected
    }
    return 0;
}
