#pragma once

#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>
#include <tools/inspect/compare/content_digest.hpp>

#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace chainbase::test {

struct quoted_price {
    std::int16_t amount = 0;
    std::uint64_t unit = 0;
    bool fixed = false;
};
BOOST_DESCRIBE_STRUCT(quoted_price, (), (amount, unit, fixed))

/// No enum, no char: what the catalogue says of it is all there is.
struct plain {
    chainbase::id<plain> id;
    std::uint32_t count = 0;
    fixed_string<24> name;
    shared_string text;
    shared_vector<quoted_price> prices;
    std::array<quoted_price, 2> pair{};
    quoted_price one;
    bool yes = false;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(plain, (), (id, count, name, text, prices, pair, one, yes))

/// Opens a state of that type and closes it.
inline void with_plain(const std::filesystem::path& state,
                       const std::function<void(database&)>& use) {
    database db(state, quick_options());
    db.add_type<plain>("plain");
    use(db);
}

inline std::string digest_of(const std::filesystem::path& state, unsigned threads = 2) {
    return inspect::content_digest::of(state, {{}, threads, false}).digest;
}

inline outcome digest_with(const std::filesystem::path& state, const std::string& rest = {}) {
    return inspect_with("digest " + state.string() + " " + rest);
}

/// What the program tells.
inline std::string told(const std::filesystem::path& state, const std::string& rest = {}) {
    return nlohmann::json::parse(digest_with(state, "--json " + rest).output).at("digest");
}

} // namespace chainbase::test
