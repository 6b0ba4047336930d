#include <tools/inspect/state/schema_hash.hpp>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace chainbase::inspect {

std::uint64_t schema_hash(const catalogue& types) {
    std::vector<std::uint64_t> hashes; // each has its type's name in it
    for (const catalogue::entry& one : types.entries())
        hashes.push_back(one.schema.hash());
    std::ranges::sort(hashes);
    std::string text;
    for (const std::uint64_t hash : hashes)
        text += hash_text(hash);
    return XXH3_64bits(text.data(), text.size());
}

std::string hash_text(std::uint64_t hash) {
    return fmt::format("{:016x}", hash);
}

} // namespace chainbase::inspect
