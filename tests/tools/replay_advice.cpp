#include <catch2/catch.hpp>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/small_chain.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

/// What the driver says of the machine when it opens a state.
using namespace chainbase;
using namespace chainbase::test;

namespace {

bool is_tmpfs(const std::filesystem::path& folder) {
    struct statfs system{};
    return ::statfs(folder.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/// Without their times.
std::vector<std::string> lines_about(const std::string& state, const std::string& said) {
    std::vector<std::string> all;
    std::istringstream from(said);
    for (std::string line; std::getline(from, line);)
        if (const auto at = line.find(state + ": "); at != std::string::npos)
            all.push_back(line.substr(at));
    return all;
}

} // namespace

TEST_CASE("a replay into a state in memory says once what that costs, and not on stdout") {
    const temporary_folder folder(memory_or_disk());
    if (!is_tmpfs(folder.path())) {
        WARN("skipped: no tmpfs");
        return;
    }
    write_blocks(folder / "log", "steem-2016", {block_of(1, 3, account("alice"))});
    const std::string state = folder / "state";
    for (int run = 0; run < 2; ++run) { // it is made, and it is there
        const driver_run done =
            run_driver({"replay", "--block-log", folder / "log", "--state", state, "--json"});
        INFO(done.err);
        REQUIRE(done.code() == 0);
        CHECK(done.json()["head"] == 1);
        std::vector<std::string> lines = lines_about(state, done.err);
        CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
                  return line.find("nothing of it survives a restart") != std::string::npos &&
                         line.find("--memory-folder") != std::string::npos;
              }) == 1);
        CHECK(lines.size() <= 6);
        std::sort(lines.begin(), lines.end());
        CHECK(std::adjacent_find(lines.begin(), lines.end()) == lines.end());
    }
}

TEST_CASE("a replay says that a segment stays where it is when another place is asked for") {
    const temporary_folder folder(memory_or_disk());
    write_blocks(folder / "log", "steem-2016", {block_of(1, 3, account("alice"))});
    const auto replay = [&](const std::string& state, const std::string& memory) {
        return run_driver(
            {"replay", "--block-log", folder / "log", "--state", state, "--memory-folder", memory});
    };
    const std::string memory = folder / "memory";
    const std::string other = folder / "other";
    std::filesystem::create_directory(memory);
    std::filesystem::create_directory(other);
    const std::string state = folder / "state";
    const std::string sign = "counts when a segment is made or restored";
    for (int run = 0; run < 2; ++run) {
        const driver_run made = replay(state, memory);
        INFO(made.err);
        CHECK(made.code() == 0);
        CHECK_FALSE(made.says(sign));
    }
    const driver_run stays = replay(state, other);
    INFO(stays.err);
    CHECK(stays.code() == 0);
    CHECK(stays.says("--memory-folder " + other + " " + sign + "; this one is in " + memory));
    CHECK(std::filesystem::is_empty(other));
    const std::string plain = folder / "plain";
    REQUIRE(run_driver({"replay", "--block-log", folder / "log", "--state", plain}).code() == 0);
    CHECK(replay(plain, memory).says("this one is in " + plain));
    CHECK(replay(plain, folder / ".").says("this one is in " + plain)); // the folder it is in
}

TEST_CASE("a replay into memory that is not there or for no group leaves nothing behind") {
    const temporary_folder folder;
    write_blocks(folder / "log", "steem-2016", {block_of(1, 3, account("alice"))});
    using arguments = std::vector<std::string>;
    for (const arguments& wrong :
         {arguments{"--memory-folder", folder / "nowhere"},
          arguments{"--memory-folder", folder / "log"}, arguments{"--group", "99999999999"},
          arguments{"--group", "4294967295"}}) {
        arguments all{"replay", "--block-log", folder / "log", "--state",
                      folder / "above" / "state"};
        all.insert(all.end(), wrong.begin(), wrong.end());
        const driver_run refused = run_driver(all);
        INFO(refused.err);
        CHECK(refused.code() == 2);
        CHECK(refused.says(wrong.back()));
        CHECK_FALSE(std::filesystem::exists(folder / "above"));
    }
}
