#include <chainbase/schema.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/root/read_only_tree.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>

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

/// Digits only, from 1 on.
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
        boost::algorithm::trim_right(line); // lines may end as other systems end them
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

namespace {

[[noreturn]] void throw_no_roots(const std::filesystem::path& state) {
    throw usage_error(state.string() +
                      ": the state keeps no roots of blocks; a replay, sync or live with "
                      "--state-root all keeps them, from the block on at which the state stands");
}

bool has_type(inspect::row_source& from, const type_schema& wanted) {
    return std::ranges::any_of(from.types(), [&](const type_schema* one) {
        return one->name == wanted.name && one->fields == wanted.fields &&
               one->value_bytes == wanted.value_bytes;
    });
}

/// Visits all objects of T that a state has.
template <typename T, typename Visitor>
void each(inspect::row_source& from, Visitor&& visit) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto all = inspect::row_query{T::type_name, "id", {}, {}, {}, false}.cursor(from);
    inspect::scan(from, T::type_name, *all, [&](const rows::type_rows& rows, slot_number slot) {
        T one;
        std::memcpy(static_cast<void*>(&one), rows.slots().value(slot), sizeof one);
        visit(one);
        return true;
    });
}

} // namespace

known_roots known_roots::of_state(inspect::row_source& from) {
    known_roots found{from.state(), true, {}, {}, {}};
    from.take_turn([&] {
        if (!has_type(from, schema_of<block_root>(block_root::type_name)) ||
            !has_type(from, schema_of<chain_identity>(chain_identity::type_name)))
            throw_no_roots(from.state());
        const inspect::read_only_tree tree(from);
        for (const auto& [number, name] : tree.types())
            found.types.insert(name);
    });
    each<chain_identity>(from, [&](const chain_identity& one) { found.chain = one.chain.view(); });
    each<block_root>(
        from, [&](const block_root& one) { found.by_number[one.number] = {one.root, one.writes}; });
    if (found.by_number.empty()) throw_no_roots(from.state());
    return found;
}

known_roots known_roots::of_state(const std::filesystem::path& state) {
    inspect::row_source from(state);
    return of_state(from);
}

bool known_roots::is_file(const std::filesystem::path& source) {
    return inspect::look_at(source.string(), [&] {
        const auto what = std::filesystem::status(source);
        const bool may_be_checkpoint = source.filename().string().find('@') != std::string::npos;
        if (!std::filesystem::exists(what) && !may_be_checkpoint)
            throw usage_error(source.string() +
                              ": there is neither a state nor a file of roots; check the path");
        return std::filesystem::exists(what) && !std::filesystem::is_directory(what);
    });
}

known_roots known_roots::read(const std::filesystem::path& source) {
    return is_file(source) ? of_file(source) : of_state(source);
}

} // namespace chainbase::driver
