// repair: tells what can be done, does it when told to, and keeps what was damaged.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/inspect/unchanged.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("repair mends broken links when told to and keeps what was damaged") {
    const sample state;
    const std::string before = state.content();
    damage(state, "account.objects", account_links(state, 500) + 4);
    REQUIRE(state.run("check").code == 4);
    const auto untouched = content_of(state.path());
    const outcome plan = state.run("repair");
    INFO(plan.output);
    CHECK(plan.code == 4);
    CHECK_THAT(plan.output, Contains("nothing was changed") && Contains("--from objects") &&
                                Contains("account.objects"));
    CHECK(content_of(state.path()) == untouched);
    const json done = state.report("repair", "--yes");
    CHECK(done.at("repaired") == true);
    CHECK(done.at("way") == "objects");
    CHECK(done.at("objects").at("lost") == 0);
    state.require_sound();
    CHECK(state.content() == before);
    CHECK(fs::exists(done.at("kept_as").get<std::string>() + "/account.objects"));
    CHECK(done.at("kept_as") == state.path() + "/segment.damaged.1");
    CHECK(state.run("repair").code == 0);
    CHECK_THAT(state.run("repair", "--yes").output, Contains("is damaged"));
    reopen_sample_state(state.path());
    CHECK(state.content() == before);
}

TEST_CASE("repair tells of files that opening refuses and leaves them to who may change them") {
    const sample state;
    const fs::path file = fs::path(state.path()) / "segment" / "account.ids";
    fs::permissions(file, fs::perms::others_read, fs::perm_options::add);
    REQUIRE(state.run("check").code == 1);
    for (const char* how : {"", "--yes"}) {
        const outcome told = state.run("repair", how);
        INFO(told.output);
        CHECK(told.code == 1);
        CHECK_THAT(told.output, Contains("refused: ") && Contains(file.string()));
        const json report = state.report("repair", how + std::string(" 2>/dev/null"));
        CHECK(report.at("refused").size() == 1);
        CHECK(report.at("repaired") == false);
    }
}

TEST_CASE("repair takes the checkpoint when that has all there was") {
    const with_checkpoint state;
    const std::string before = state.content();
    damage(state, "account.objects", account_links(state, 100) + 8);
    const json plan = state.report("repair");
    CHECK(plan.at("way") == "checkpoint");
    CHECK(plan.at("checkpoint").at("revision") == plan.at("objects").at("revision"));
    const json done = state.report("repair", "--yes");
    CHECK(done.at("repaired") == true);
    state.require_sound();
    CHECK(state.content() == before);
    CHECK(fs::exists(state.path() + "/segment.damaged.1"));
}

TEST_CASE("repair keeps a damaged segment in memory beside its home") {
    const made_state state;
    const fs::path memory = state.folder / "memory";
    fs::create_directory(memory);
    const std::string way = GENERATE("objects", "checkpoint");
    {
        open_options how = with_checkpoints();
        how.memory_folder = memory;
        database db(state.path(), how);
        db.add_type<account>("account");
        add_accounts(db, 100);
    }
    const std::string before = state.content();
    const fs::path home = *fs::directory_iterator(memory);
    const type_schema schema = catalogue::read(home / "segment").find("account")->schema;
    flip_bit(home / "segment/account.objects",
             8 * (window_header::page_bytes + 50 * schema.node_bytes + schema.value_offset - 12));
    const json done = state.report("repair", "--yes --from " + way);
    CHECK(done.at("way") == way);
    const fs::path kept = done.at("kept_as").get<std::string>();
    CHECK(kept == home.string() + ".damaged.1");
    CHECK(fs::exists(kept / "account.objects"));
    state.require_sound();
    CHECK(state.content() == before);
    CHECK(state.run("compact", "--commit").code == 0);
    CHECK(state.content() == before);
}

TEST_CASE("repair takes the other way when it is named") {
    const with_checkpoint state;
    const std::string before = state.content();
    damage(state, "account.objects", account_links(state, 100) + 8);
    const json done = state.report("repair", "--yes --from objects");
    CHECK(done.at("way") == "objects");
    state.require_sound();
    CHECK(state.content() == before);
    CHECK(state.run("check", "--checkpoint").code == 0);
}

TEST_CASE("repair makes damaged checkpoints again of a segment that is sound") {
    const with_checkpoint state;
    const std::string before = state.content();
    const fs::path pages = state.path() + "/checkpoint/pages";
    for (std::uint64_t at = 4096 + 9; at < fs::file_size(pages); at += 4096)
        flip_bit(pages, 8 * at);
    REQUIRE(state.run("check", "--checkpoint").code == 4);
    const auto untouched = content_of(state.path());
    CHECK(state.run("repair").code == 4);
    CHECK(content_of(state.path()) == untouched);
    const json done = state.report("repair", "--yes");
    CHECK(done.at("way") == "checkpoints");
    CHECK(done.at("kept_as") == state.path() + "/checkpoint.damaged.1");
    CHECK(fs::exists(state.path() + "/checkpoint.damaged.1/pages"));
    CHECK(state.run("check", "--checkpoint").code == 0);
    CHECK(state.run("repair").code == 0);
    state.require_sound();
    fs::remove_all(state.path() + "/segment");
    {
        const database db(state.path(), with_checkpoints());
    }
    CHECK(state.content() == before);
}

TEST_CASE("repair says what to do when neither way is open") {
    const sample state;
    damage(state, "header", 30);
    const outcome result = state.run("repair", "--yes");
    INFO(result.output);
    CHECK(result.code == 4);
    CHECK_THAT(result.output, Contains("replay into a new folder"));
    CHECK(state.run("repair", "--from checkpoint").code == 2);
}

TEST_CASE("repair and a rescue say when nobody knows what the objects are") {
    const bool has_checkpoint = GENERATE(true, false);
    const sample plain;
    const with_checkpoint checkpointed;
    const made_state& state = has_checkpoint ? static_cast<const made_state&>(checkpointed) : plain;
    const std::string before = state.content();
    std::ofstream(state.path() + "/segment/catalogue.json") << "[]";
    REQUIRE(state.run("check").code == 4);
    const auto untouched = content_of(state.path());
    const std::string dump = (state.folder / "dump").string();
    const outcome rescued = state.run("dump", "--rescue --output " + dump);
    INFO(rescued.output);
    CHECK(rescued.code == 1);
    CHECK_THAT(rescued.output, Contains("catalogue.json"));
    CHECK_FALSE(fs::exists(dump));
    const json plan = state.report("repair");
    CHECK_THAT(plan.at("why_no_objects").get<std::string>(), Contains("catalogue.json"));
    CHECK(plan.at("objects").is_null());
    CHECK(plan.at("way") == (has_checkpoint ? "checkpoint" : "none"));
    CHECK(content_of(state.path()) == untouched);
    CHECK(state.run("repair", "--yes").code == (has_checkpoint ? 0 : 4));
    if (has_checkpoint) {
        state.require_sound();
        CHECK(state.content() == before);
        return;
    }
    const auto now = content_of(state.path());
    for (const auto& [file, content] : untouched)
        if (fs::is_regular_file(file)) CHECK(now.at(file).second == content.second);
}
