// resize: how far a state can grow, also after a restore.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/inspect/unchanged.hpp>

#include <filesystem>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

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
