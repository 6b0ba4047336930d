#include <chainbase/schema.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_scan.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <boost/algorithm/hex.hpp>

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <type_traits>

namespace chainbase::driver {

namespace {

[[noreturn]] void throw_no_roots(const std::filesystem::path& state) {
    throw usage_error(
        state.string() +
        ": the state keeps no roots of blocks; replay, sync or live with --state-root "
        "all, from its first block on, keep them");
}

const type_schema& require_type(inspect::row_source& from) {
    const type_schema wanted = schema_of<block_root>(block_root::type_name);
    for (const type_schema* one : from.types())
        if (one->name == wanted.name && one->fields == wanted.fields &&
            one->value_bytes == sizeof(block_root))
            return *one;
    throw_no_roots(from.state());
}

known_roots roots_of_state(const std::filesystem::path& state) {
    known_roots found{state, {}};
    inspect::row_source from(state);
    from.take_turn([&] { (void)require_type(from); });
    const auto all =
        inspect::row_query{block_root::type_name, "id", {}, {}, {}, false}.cursor(from);
    inspect::scan(from, block_root::type_name, *all,
                  [&](const rows::type_rows& rows, slot_number slot) {
                      static_assert(std::is_trivially_copyable_v<block_root>);
                      block_root one;
                      std::memcpy(static_cast<void*>(&one), rows.slots().value(slot), sizeof one);
                      found.by_number[one.number] = {one.root, one.writes};
                      return true;
                  });
    if (found.by_number.empty()) throw_no_roots(state);
    return found;
}

std::optional<sha256_digest> digest_in(const std::string& word) {
    sha256_digest digest;
    if (word.size() != 2 * digest.size() ||
        word.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        return std::nullopt;
    boost::algorithm::unhex(word, reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
}

known_roots roots_of_file(const std::filesystem::path& file) {
    known_roots found{file, {}};
    std::ifstream from(file);
    if (!from) throw io_error(file.string() + ": cannot be read; check the path");
    std::string line;
    for (std::uint64_t number = 1; std::getline(from, line); ++number) {
        if (line.empty() || line.front() == '#') continue;
        std::istringstream words(line);
        std::uint64_t block = 0;
        std::string root;
        std::string writes;
        std::string more;
        words >> block >> root >> writes;
        const auto root_digest = digest_in(root);
        const auto writes_digest = digest_in(writes);
        const bool is_rising = found.by_number.empty() || block > found.by_number.rbegin()->first;
        if (!root_digest || !writes_digest || words >> more || !is_rising)
            throw damaged_error(file.string() + ", line " + std::to_string(number) +
                                ": is not NUMBER ROOT WRITES with a higher number than the line "
                                "before; write the file anew with `chainbase-driver roots`");
        found.by_number[block] = {*root_digest, *writes_digest};
    }
    if (from.bad()) throw io_error(file.string() + ": cannot be read to its end");
    if (found.by_number.empty())
        throw damaged_error(file.string() +
                            ": has no roots; write it with `chainbase-driver roots`");
    return found;
}

} // namespace

known_roots known_roots::read(const std::filesystem::path& source) {
    if (std::filesystem::is_regular_file(source)) return roots_of_file(source);
    return roots_of_state(source);
}

std::string known_roots::to_text() const {
    std::string text = "# block, state root, digest of the block's writes\n";
    for (const auto& [number, one] : by_number)
        text += std::to_string(number) + ' ' + hex(one.root) + ' ' + hex(one.writes) + '\n';
    return text;
}

} // namespace chainbase::driver
