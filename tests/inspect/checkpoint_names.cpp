// A checkpoint looked at as a state: STATE@checkpoint, STATE@checkpoint:GENERATION.
#include <chainbase/database.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <tests/inspect/account_block.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A state with checkpoints of 100 and of 103 accounts, and 110 in memory, that stays open.
class state_with_checkpoints {
public:
    state_with_checkpoints() : db_(folder_ / "state", with_checkpoints()) {
        db_.add_type<account>("account");
        add_accounts(db_, 100);
        first = db_.make_checkpoint().generation;
        add_accounts(db_, 3);
        db_.modify(db_.get(id<account>(7)), [](account& a) { a.balance = 70; });
        second = db_.make_checkpoint().generation;
        add_accounts(db_, 7);
        ::setenv("TMPDIR", temporary().c_str(), 1);
        fs::create_directory(temporary());
    }
    ~state_with_checkpoints() { ::unsetenv("TMPDIR"); }

    [[nodiscard]] fs::path path() const { return folder_ / "state"; }
    [[nodiscard]] fs::path temporary() const { return folder_ / "temporary"; }
    [[nodiscard]] std::string at(std::uint64_t generation) const {
        return path().string() + "@checkpoint:" + std::to_string(generation);
    }
    [[nodiscard]] bool left_nothing() const { return fs::is_empty(temporary()); }
    void close() { db_.close(); }
    database& db() { return db_; }

    std::uint64_t first = 0;
    std::uint64_t second = 0;

private:
    static open_options with_checkpoints() {
        open_options options;
        options.window_bytes = std::size_t{64} << 20;
        options.promise = durability::checkpoint;
        options.checkpoints.interval = std::chrono::milliseconds(0);
        options.advise = false;
        return options;
    }
    scratch_folder folder_;
    database db_;
};

std::uint64_t rows_of(const std::string& name) {
    return json::parse(inspect_with("count " + name + " account --json").output).at("rows");
}

} // namespace

TEST_CASE("checkpoint names: each checkpoint is a state beside its writer and nothing changes") {
    const state_with_checkpoints state;
    const auto checkpoints = state.path() / "checkpoint";
    const folder_image before = image_of(checkpoints);
    CHECK(rows_of(state.path()) == 110);
    CHECK(rows_of(state.path().string() + "@checkpoint") == 103);
    CHECK(rows_of(state.at(state.second)) == 103);
    CHECK(rows_of(state.at(state.first)) == 100);
    CHECK(inspect_with("get " + state.at(state.first) + " account id 7").output.find("70") ==
          std::string::npos);
    CHECK(json::parse(inspect_with("schema " + state.at(state.first) + " --json").output)
              .at("types")
              .size() == 1);
    const json stat = json::parse(inspect_with("stat " + state.at(state.first) + " --json").output);
    CHECK(stat.at("types").at(0).at("objects") == 100);
    CHECK(stat.at("state") == state.at(state.first));
    CHECK(image_of(checkpoints) == before);
    CHECK(state.left_nothing());
}

TEST_CASE("checkpoint names: diff says what changed between two of them and since") {
    const state_with_checkpoints state;
    const outcome result =
        inspect_with("diff " + state.at(state.first) + " " + state.at(state.second) + " --json");
    CHECK(result.code == 5);
    const json type = json::parse(result.output).at("types").at(0);
    CHECK(type.at("only_b") == 3);
    CHECK(type.at("changed") == 1);
    CHECK(type.at("fields") == json({{"balance", 1}}));
    const json since = json::parse(inspect_with("diff " + state.path().string() + "@checkpoint " +
                                                state.path().string() + " --json")
                                       .output)
                           .at("types")
                           .at(0);
    CHECK(since.at("only_b") == 7);
    CHECK(since.at("changed") == 0);
    CHECK(state.left_nothing());
}

TEST_CASE("checkpoint names: the digest of one is the state's at that time") {
    state_with_checkpoints state;
    state.close(); // makes one
    const auto digest = [](const std::string& name) {
        return json::parse(inspect_with("digest " + name + " --json").output).at("digest");
    };
    CHECK(digest(state.path().string() + "@checkpoint") == digest(state.path()));
    CHECK(digest(state.at(state.second)) != digest(state.path()));
}

TEST_CASE("checkpoint names: info lists them and what there is not is told") {
    const state_with_checkpoints state;
    const json info = json::parse(inspect_with("info " + state.path().string() + " --json").output);
    CHECK(info.at("checkpoints").at(0).at("name") == state.at(state.second));
    CHECK(inspect_with("info " + state.path().string()).output.find(state.at(state.first)) !=
          std::string::npos);
    const outcome other = inspect_with("count " + state.at(77) + " account 2>&1");
    CHECK(other.code == 2);
    CHECK(other.output.find("it has " + std::to_string(state.second)) != std::string::npos);
    CHECK(inspect_with("count " + state.path().string() + "@checkpoint:x account 2>&1").code == 2);
    CHECK(inspect_with("count " + (state.path() / "nothing").string() +
                       "@checkpoint account 2>/dev/null")
              .code != 0);
    CHECK(state.left_nothing());
}

TEST_CASE("checkpoint names: where there is no room nothing is made") {
    CHECK_THROWS_AS(inspect::temporary_folder::place_for(std::uint64_t{1} << 62),
                    out_of_space_error);
    CHECK_NOTHROW(inspect::temporary_folder::place_for(1));
}

TEST_CASE("checkpoint names: a temporary folder goes with the process even if that is killed") {
    const scratch_folder folder;
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const inspect::temporary_folder made(folder.path());
        fs::create_directory(made.path() / "within");
        static_cast<void>(::write(ready[1], "x", 1));
        for (;;)
            ::pause();
    }
    char byte;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    CHECK_FALSE(fs::is_empty(folder.path()));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (int waited = 0; waited < 3000 && !fs::is_empty(folder.path()); ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(fs::is_empty(folder.path()));
    ::close(ready[0]);
    ::close(ready[1]);
}
