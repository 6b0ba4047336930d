// compact, resize, repair and dump --rescue: what they promise before they do it, and that what
// they do loses nothing, whoever comes in between.
#include <chainbase/bulk_load/segment_replacement.hpp>
#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/account_block.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/support/loaded_copy.hpp>
#include <tests/support/random_source.hpp>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct made_state {
    [[nodiscard]] std::string path() const { return (folder / "state").string(); }
    [[nodiscard]] outcome run(const std::string& verb, const std::string& rest = "") const {
        return inspect_with(verb + " " + path() + " " + rest + " 2>&1");
    }
    [[nodiscard]] json report(const std::string& verb, const std::string& rest = "") const {
        const outcome result = inspect_with(verb + " " + path() + " --json " + rest);
        INFO(result.output);
        return json::parse(result.output);
    }
    /// All objects; as text, which is the same wherever they lie.
    [[nodiscard]] std::string content() const {
        const outcome result = inspect_with("dump " + path());
        REQUIRE(result.code == 0);
        return result.output;
    }
    void require_sound() const {
        const outcome result = run("check");
        INFO(result.output);
        REQUIRE(result.code == 0);
    }

    scratch_folder folder;
};

struct sample : made_state {
    sample() { build_sample_state(path()); }
};

/// Accounts in a state that makes checkpoints.
struct with_checkpoint : made_state {
    explicit with_checkpoint(std::uint32_t accounts = 300) {
        database db(path(), with_checkpoints());
        db.add_type<account>("account");
        add_accounts(db, accounts);
        for (std::uint32_t n = 0; n < accounts; n += 2)
            db.remove(db.get(id<account>(n)));
    }
};

/// Flips a bit in a word that lies at an offset of a file of the segment.
void damage(const made_state& of, const char* file, std::uint64_t offset) {
    flip_bit(fs::path(of.path()) / "segment" / file, 8 * offset + 5);
}

/// Where the links of the first key of an account are in the file of its slot.
std::uint64_t account_links(const made_state& of, slot_number slot) {
    const type_schema schema =
        catalogue::read(fs::path(of.path()) / "segment").find("account")->schema;
    return window_header::page_bytes + std::uint64_t{slot} * schema.node_bytes +
           schema.value_offset - 12;
}

/// Where the handle of a field of a post is in its file.
std::uint64_t post_field(const made_state& of, std::uint32_t id, const std::string& name) {
    const state_rows rows(of.path());
    for (std::size_t number = 0; number < rows.types().size(); ++number) {
        const type_schema& schema = rows.types()[number].schema;
        if (schema.name != "post") continue;
        const slot_number slot = rows.of(number).slots().slot_of(id);
        for (const type_schema::field& field : schema.fields)
            if (field.name == name)
                return window_header::page_bytes + std::uint64_t{slot} * schema.node_bytes +
                       schema.value_offset + field.offset;
    }
    throw std::runtime_error("no such post");
}

} // namespace

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
    CHECK(state.report("stat").at("total").at("files") == parts.back().at("after"));
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

TEST_CASE("the verbs that change a state leave alone one that is open or was left by a kill") {
    const sample state;
    writer_process writer(state.path());
    for (const char* verb : {"compact --commit", "resize --windows 500", "repair --yes"}) {
        const std::string call(verb);
        const auto blank = call.find(' ');
        const outcome result = state.run(call.substr(0, blank), call.substr(blank));
        INFO(call << ": " << result.output);
        CHECK(result.code == 1);
        CHECK_THAT(result.output, Contains("open for writing"));
    }
    writer.kill();
    CHECK(state.run("compact", "--commit").code == 1);
    CHECK_THAT(state.run("compact", "--commit").output, Contains("died"));
}

TEST_CASE("a state that was opened while its segment was made anew stays as it is") {
    const with_checkpoint state;
    const bool changes = GENERATE(true, false);
    bulk_load::segment_replacement replacement(state.path());
    {
        bulk_load::new_state made(replacement.folder(), replacement.limits());
        made.close(1);
    }
    {
        database db(state.path(), with_checkpoints());
        db.add_type<account>("account");
        if (changes) {
            add_accounts(db, 1);
            db.close();
        } else {
            CHECK_THROWS_AS(replacement.replace(), locked_error);
            db.abandon();
        }
    }
    const std::string content = changes ? state.content() : "";
    CHECK_THROWS_AS(replacement.replace(), locked_error);
    if (changes) CHECK(state.content() == content);
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

TEST_CASE("one segment at a time is made for a state and looking does not disturb it") {
    const with_checkpoint state;
    const std::string before = state.content();
    bulk_load::segment_replacement first(state.path());
    CHECK_THROWS_AS(bulk_load::segment_replacement(state.path()), locked_error);
    bulk_load::new_state made(first.folder(), first.limits());
    CHECK(state.run("compact").code == 1);
    CHECK(state.run("repair").code == 0);
    made.close(1);
    CHECK(fs::exists(first.folder() / "segment"));
    CHECK(state.content() == before);
}

TEST_CASE("a compaction that is killed at any moment leaves the state whole") {
    const std::uint64_t seed = test_seed(91);
    INFO("seed " << seed);
    random_source random(seed);
    const with_checkpoint state(20'000);
    const std::string content = state.content();
    int ended = 0;
    for (int round = 0; round < 25; ++round) {
        const outcome result = inspect_with("compact " + state.path() + " --json & sleep 0.0" +
                                            std::to_string(10 + random.below(90)) +
                                            "; kill -9 $! 2>/dev/null; wait $!");
        ended += result.output.find("\"done\":true") != std::string::npos;
        {
            database db(state.path(), with_checkpoints());
            db.add_type<account>("account");
            REQUIRE(db.count<account>() == 10'000);
        }
        REQUIRE(state.content() == content);
        state.require_sound();
    }
    WARN("seed " << seed << ": " << ended << " of 25 ended before they were killed");
}

TEST_CASE("resize changes how far a state can grow also after a restore") {
    const with_checkpoint state;
    const std::string before = state.content();
    const json now = state.report("resize");
    CHECK(now.at("done") == false);
    const auto window = now.at("window_bytes").get<std::uint64_t>();
    const json done =
        state.report("resize", "--windows 77 --window-bytes " + std::to_string(2 * window));
    CHECK(done.at("done") == true);
    CHECK(done.at("window_bytes_before") == window);
    const auto has_limits = [&] {
        const json stat = state.report("stat");
        return stat.at("header").at("windows") == 77 &&
               stat.at("header").at("window_bytes") == 2 * window;
    };
    CHECK(has_limits());
    CHECK(state.content() == before);
    state.require_sound();
    fs::remove_all(state.path() + "/segment");
    {
        database db(state.path(), with_checkpoints());
        db.add_type<account>("account");
        add_accounts(db, 10);
    }
    CHECK(has_limits());
    state.require_sound();
}

TEST_CASE("resize refuses what does not hold the state") {
    const sample state;
    const auto untouched = content_of(state.path());
    CHECK_THAT(state.run("resize", "--windows 20").output, Contains("in use already"));
    CHECK_THAT(state.run("resize", "--window-bytes 4096").output, Contains("2 MiB"));
    CHECK_THAT(state.run("resize", "--windows 500").output, Contains("can still be undone"));
    CHECK(state.run("resize", "--windows 20").code == 2);
    CHECK(state.run("resize", "--windows 500 --dry-run").code == 0);
    CHECK(state.run("resize", "--windows 500000000").code == 2);
    CHECK(content_of(state.path()) == untouched);
}

TEST_CASE("a rescue has all objects but those of which a text is nowhere") {
    const sample state;
    damage(state, "post.objects", post_field(state, 7, "body") + 6); // another slot
    const std::string file = (state.folder / "dump").string();
    const outcome result = state.run("dump", "--rescue --output " + file);
    INFO(result.output);
    CHECK(result.code == 4);
    CHECK_THAT(result.output, Contains("post: 1 objects cannot be read"));
    const std::string to = (state.folder / "to").string();
    const outcome loaded = inspect_with("load " + to + " " + file + " 2>&1");
    INFO(loaded.output);
    REQUIRE(loaded.code == 0);
    CHECK(inspect_with("check " + to).code == 0);
    const outcome rest = inspect_with("dump " + to + " account token marker");
    CHECK(inspect_with("dump " + state.path() + " account token marker").output == rest.output);
    CHECK(inspect_with("count " + to + " post").output == "399\n");
    CHECK(inspect_with("get " + to + " post id 7").output.find("7") == std::string::npos);
    CHECK(inspect_with("dump " + to + " post").output.find("{\"post\":{\"id\":8,") !=
          std::string::npos);
}

TEST_CASE("a rescue of a sound state is its dump") {
    const sample state;
    const outcome rescued = inspect_with("dump " + state.path() + " --rescue");
    CHECK(rescued.code == 0);
    const std::string whole = state.content();
    const auto rows = whole.rfind('\n', whole.size() - 2) + 1;
    CHECK(rescued.output.substr(0, rows) == whole.substr(0, rows));
}

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
