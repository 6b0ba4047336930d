#include <tools/driver/block_checksum.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::driver {

std::uint64_t checksum_of(const block& of) {
    const auto chain = [](std::uint64_t value, std::uint64_t before) {
        return XXH3_64bits_withSeed(&value, sizeof value, before);
    };
    std::uint64_t sum = chain(of.number, 0);
    sum = chain(static_cast<std::uint64_t>(of.timestamp), sum);
    for (const transaction& part : of.transactions) {
        sum = chain(part.operations.size(), sum);
        for (const bytes& operation : part.operations)
            sum = XXH3_64bits_withSeed(operation.data(), operation.size(), sum);
    }
    return sum;
}

} // namespace chainbase::driver
