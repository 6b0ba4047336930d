#include <chainbase/object/schema.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/known_roots.hpp>

#include <boost/algorithm/hex.hpp>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <type_traits>

namespace chainbase::driver {

namespace {

constexpr std::string_view before_chain = "# chain: ";
constexpr std::string_view before_types = "# types: ";

std::optional<sha256_digest> digest_in(const std::string& word) {
    sha256_digest digest;
    if (word.size() != 2 * digest.size() ||
        word.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        return std::nullopt;
    boost::algorithm::unhex(word, reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
}

/// Parses a number from 1 on, digits only.
std::optional<std::uint64_t> number_in(const std::string& word) {
    std::uint64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [behind, problem] = std::from_chars(word.data(), end, number);
    if (problem != std::errc() || behind != end || number == 0) return std::nullopt;
    return number;
}

} // namespace

known_roots known_roots::of_file(const std::filesystem::path& file) {
    known_roots found{file, false, {}, {}, {}};
    std::ifstream from(file);
    if (!from) throw io_error(file.string() + ": cannot be read; check the path");
    std::string line;
    for (std::uint64_t number = 1; std::getline(from, line); ++number) {
        boost::algorithm::trim_right(line); // accepts other systems' line ends
        if (line.starts_with(before_chain)) found.chain = line.substr(before_chain.size());
        if (line.starts_with(before_types))
            boost::algorithm::split(found.types, line.substr(before_types.size()),
                                    boost::algorithm::is_any_of(","));
        if (line.empty() || line.front() == '#') continue;
        std::istringstream words(line);
        std::string block;
        std::string root;
        std::string writes;
        std::string more;
        words >> block >> root >> writes;
        const auto block_number = number_in(block);
        const auto root_digest = digest_in(root);
        const auto writes_digest = digest_in(writes);
        const bool is_rising =
            found.by_number.empty() || block_number > found.by_number.rbegin()->first;
        if (!block_number || !root_digest || !writes_digest || words >> more || !is_rising)
            throw damaged_error(file.string() + ", line " + std::to_string(number) +
                                ": is not NUMBER ROOT WRITES with a higher number than the line "
                                "before; write the file anew with `chainbase-driver roots`");
        found.by_number[*block_number] = {*root_digest, *writes_digest};
    }
    if (from.bad()) throw io_error(file.string() + ": cannot be read to its end");
    if (found.by_number.empty())
        throw damaged_error(file.string() +
                            ": has no roots; write it with `chainbase-driver roots`");
    return found;
}

void known_roots::require_comparable(const known_roots& others) const {
    if (!chain.empty() && !others.chain.empty() && chain != others.chain)
        throw usage_error(fmt::format("{} is of the chain {}, and {} of {}; name two of one chain",
                                      source.string(), chain, others.source.string(),
                                      others.chain));
    if (types.empty() || others.types.empty() || types == others.types) return;
    throw usage_error(
        fmt::format("the roots of {} commit to the types {}, and those of {} to {}; "
                    "only roots of the same types can be compared: replay one of them "
                    "with the other's, --state-root {}",
                    source.string(), fmt::join(types, ", "), others.source.string(),
                    fmt::join(others.types, ", "), fmt::join(types, ",")));
}

void known_roots::keep(std::uint64_t first, std::uint64_t last, std::size_t newest) {
    const std::string range =
        fmt::format("{} to {}", by_number.begin()->first, by_number.rbegin()->first);
    std::erase_if(by_number,
                  [&](const auto& one) { return one.first < first || one.first > last; });
    while (by_number.size() > newest)
        by_number.erase(by_number.begin());
    if (by_number.empty())
        throw usage_error(fmt::format("{} has the roots of blocks {}, and none from {} to {}",
                                      source.string(), range, first, last));
}

std::string known_roots::to_json() const {
    nlohmann::ordered_json all{{"chain", chain}, {"types", types}};
    auto& blocks = all["blocks"] = nlohmann::ordered_json::array();
    for (const auto& [number, one] : by_number) {
        auto& block = blocks.emplace_back();
        block["block"] = number;
        block["root"] = hex(one.root);
        block["writes"] = nullptr;
        if (one.writes != sha256_digest{}) block["writes"] = hex(one.writes);
    }
    return all.dump();
}

std::string known_roots::to_text() const {
    std::string text =
        fmt::format("{}{}\n{}{}\n# block, state root, digest of the block's writes\n", before_chain,
                    chain, before_types, fmt::join(types, ","));
    for (const auto& [number, one] : by_number)
        text += std::to_string(number) + ' ' + hex(one.root) + ' ' + hex(one.writes) + '\n';
    return text;
}

} // namespace chainbase::driver
