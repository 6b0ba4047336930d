#include <tools/block_log/block_id.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>

namespace chainbase {

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
