// The digest of a state from its catalogue alone is that of its content, and of nothing else.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/digest_support.hpp>
#include <tests/inspect/sample_state.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("digest: the same for the same content whatever its history") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_sample_state(state);
    const std::string before = digest_of(state);
    compact_sample_state(state);
    CHECK(digest_of(state) == before);
    with_plain(folder / "one", [](database& db) {
        for (std::uint32_t i = 0; i < 9; ++i)
            db.create<plain>([&](plain& p) { p.count = i; });
    });
    with_plain(folder / "other", [](database& db) {
        for (std::uint32_t i = 0; i < 9; ++i) {
            db.create<plain>([&](plain& p) { p.count = 77; });
            const auto undone = db.start_session();
            db.modify(db.get(id<plain>(i)), [](plain& p) { p.text = "undone"; });
        }
        for (std::uint32_t i = 9; i-- > 0;)
            db.modify(db.get(id<plain>(i)), [&](plain& p) { p.count = i; });
    });
    CHECK(digest_of(folder / "one") == digest_of(folder / "other"));
}

TEST_CASE("digest: that of one type is another one than the whole") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_sample_state(state);
    const json all = json::parse(digest_with(state, "--json").output);
    const json one = json::parse(digest_with(state, "--json --type post").output);
    CHECK(all.at("schema_version") == 1);
    CHECK(all.at("revision") == 12);
    CHECK(all.at("types").size() == 4);
    REQUIRE(one.at("types").size() == 1);
    CHECK(one.at("digest") != all.at("digest"));
    for (const json& type : all.at("types"))
        if (type.at("name") == "post") CHECK(type == one.at("types").at(0));
    const std::string text = digest_with(state).output;
    CHECK(text.find("digest   " + all.at("digest").get<std::string>()) != std::string::npos);
    CHECK(digest_with(state, "--type posts 2>/dev/null").code == 2);
    CHECK(digest_with(state, "--threads 0 2>/dev/null").code == 2);
}

TEST_CASE("digest: that of a state which was restored is the one it had") {
    const scratch_folder folder;
    const auto state = folder / "state";
    const auto opened = [&](const std::function<void(database&)>& use) {
        open_options options;
        options.window_bytes = std::size_t{64} << 20;
        options.promise = durability::checkpoint;
        database db(state, options);
        db.add_type<plain>("plain");
        use(db);
    };
    opened([](database& db) {
        for (std::uint32_t i = 0; i < 900; ++i)
            db.create<plain>([&](plain& p) {
                p.count = i;
                p.text = std::to_string(i * i);
            });
    });
    const std::string before = digest_of(state);
    fs::remove_all(state / "segment");
    opened([](database& db) { CHECK(db.opened().how == opening::way::restored); });
    CHECK(digest_of(state) == before);
}
