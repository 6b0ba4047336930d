// compact: what it promises before it does it, and that what it does loses nothing.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/inspect/unchanged.hpp>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("compact tells what it would give and gives that and keeps every object") {
    const sample state;
    const std::string before = state.content();
    const auto untouched = content_of(state.path());
    CHECK(state.run("compact").code == 2);
    CHECK_THAT(state.run("compact").output, Contains("--commit") && Contains("revision 9"));
    const json told = state.report("compact", "--dry-run");
    CHECK(content_of(state.path()) == untouched);
    CHECK(told.at("done") == false);

    const json done = state.report("compact", "--commit");
    CHECK(done.at("done") == true);
    CHECK(state.content() == before);
    state.require_sound();
    CHECK_FALSE(fs::exists(state.path() + "/segment.rebuilt"));
    const json& parts = done.at("parts");
    REQUIRE(parts.size() == told.at("parts").size());
    for (std::size_t number = 0; number < parts.size(); ++number) {
        INFO(parts[number].dump());
        CHECK(parts[number].at("before") == told.at("parts")[number].at("before"));
        CHECK(parts[number].at("after") == told.at("parts")[number].at("after"));
        CHECK(parts[number].at("after") <= parts[number].at("before"));
    }
    CHECK(parts.back().at("name") == "total");
    CHECK(parts.back().at("after") < parts.back().at("before"));
    const json held = state.report("stat").at("total");
    CHECK(held.at("files").get<std::uint64_t>() - held.at("punched").get<std::uint64_t>() ==
          parts.back().at("after"));
    CHECK(reopen_sample_state(state.path()) == 12);
    CHECK(state.content() == before);
}

TEST_CASE("what compact made is in a checkpoint and a lost segment comes back from it") {
    const with_checkpoint state;
    const std::string before = state.content();
    REQUIRE(state.run("compact").code == 0);
    CHECK(state.run("check", "--checkpoint").code == 0);
    const auto length = fs::file_size(state.path() + "/segment/account.objects");
    fs::remove_all(state.path() + "/segment");
    {
        database db(state.path(), with_checkpoints());
        CHECK(db.opened().how == opening::way::restored);
    }
    CHECK(state.content() == before);
    CHECK(fs::file_size(state.path() + "/segment/account.objects") == length);
    state.require_sound();
}

TEST_CASE("a damaged state is not compacted") {
    const sample state;
    const auto ids = fs::path(state.path()) / "segment/token.ids";
    for (int bit = 0; bit < 32; ++bit) { // whose object nothing but its key leads to then
        const auto at = 8 * (window_header::page_bytes + std::uint64_t{4} * 2'700) + bit;
        std::ifstream in(ids, std::ios::binary);
        in.seekg(static_cast<std::streamoff>(at / 8));
        if ((in.get() >> bit % 8 & 1) != 0) flip_bit(ids, at);
    }
    REQUIRE(state.run("check").code == 4);
    const auto untouched = content_of(state.path());
    const outcome result = state.run("compact", "--commit");
    INFO(result.output);
    CHECK(result.code == 1);
    CHECK_THAT(result.output, Contains("not sound"));
    const auto now = content_of(state.path());
    for (const auto& [file, content] : untouched)
        if (fs::is_regular_file(file)) CHECK(now.at(file).second == content.second);
}

TEST_CASE("the group of readers stays when a segment is made anew") {
    const made_state state;
    {
        open_options how = quick_options();
        how.readers_group = std::to_string(::getegid());
        database db(state.path(), how);
        db.add_type<account>("account");
        add_accounts(db, 10);
    }
    const auto modes = [&] {
        const fs::path segment = fs::path(state.path()) / "segment";
        return std::pair(fs::status(segment).permissions(),
                         fs::status(segment / "account.objects").permissions());
    };
    const auto before = modes();
    REQUIRE(state.run("compact", "--commit").code == 0);
    CHECK(modes() == before);
    CHECK((before.first & fs::perms::group_read) != fs::perms::none);
}
