#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/small_chain.hpp>

/// What the driver does when something does not fit: the message, the exit code, the state.
using namespace chainbase;
using namespace chainbase::test;

namespace {

const captured_log quiet;

std::vector<block> social_blocks() {
    return {block_of(1, 3, account("alice")), block_of(2, 6, account("bob")),
            block_of(3, 9, post("alice", "one")), block_of(4, 12, vote("bob", "alice", "one", 1))};
}

struct place {
    temporary_folder folder;

    [[nodiscard]] driver_run replay(const char* log = "log", const char* state = "state",
                                    const std::vector<std::string>& more = {}) const {
        std::vector<std::string> call{"replay",  "--block-log",  folder / log,
                                      "--state", folder / state, "--json"};
        call.insert(call.end(), more.begin(), more.end());
        return run_driver(call);
    }
    void write(const char* log, const std::vector<block>& blocks,
               const char* chain = "steem-2016") const {
        write_blocks(folder / log, chain, blocks);
    }
};

} // namespace

TEST_CASE("a wrong call ends with 2 and says how to call") {
    CHECK(run_driver({}).code() == 2);
    CHECK(run_driver({"fly"}).code() == 2);
    CHECK(run_driver({"replay", "--state", "x"}).code() == 2);
    CHECK(run_driver({"replay", "--block-log", "x", "--state", "y", "--threads", "0"}).code() == 2);
    for (const char* number : {"z", "-1", "+1", "", "0x10", "1e3", "1 ", "18446744073709551616"}) {
        INFO(number);
        const std::string stop = std::string("--stop-at=") + number;
        CHECK(run_driver({"replay", "--block-log", "x", "--state", "y", stop}).code() == 2);
    }
    CHECK(run_driver({"import", "my-chain", "--from", "x", "--to", "y"}).code() == 2);
    const driver_run wrong = run_driver({"replay"});
    CHECK(wrong.says("--block-log"));
    CHECK(wrong.out.empty());
    CHECK(run_driver({"--help"}).code() == 0);
    CHECK(run_driver({"replay", "--help"}).out.find("--stop-at") != std::string::npos);
}

TEST_CASE("a block log that is not there, or is none, ends with 1 and names it") {
    const place here;
    const driver_run missing = here.replay("nowhere");
    CHECK(missing.code() == 1);
    CHECK(missing.says("nowhere"));
    CHECK(missing.out.empty());
    write_file(here.folder / "text",
               "not a block log, but long enough to hold a header of one: ....");
    CHECK(here.replay("text").code() == 1);
    here.write("unknown", {block_of(1, 3)}, "my-chain");
    const driver_run unknown = here.replay("unknown");
    CHECK(unknown.code() == 2);
    CHECK(unknown.says("my-chain"));
    CHECK_FALSE(std::filesystem::exists(here.folder / "state"));
    here.write("log", social_blocks());
    CHECK(here.replay().code() == 0); // its name is not taken
}

TEST_CASE("an import that fails ends with 1, one over an existing file with 2") {
    const place here;
    write_file(here.folder / "there", "something");
    const std::string folder = here.folder.path();
    for (const char* data : {"steem-2016", "eos-swap-2022"}) {
        CHECK(run_driver({"import", data, "--from", folder, "--to", folder + "/x"}).code() == 1);
        CHECK(run_driver({"import", data, "--from", folder, "--to", folder + "/there"}).code() ==
              2);
    }
    CHECK(test::read_file(here.folder / "there") == "something");
}

TEST_CASE("a state of another chain is refused and unchanged") {
    const place here;
    here.write("log", social_blocks());
    const swap::asset a{1, 4, "EOS"}, b{1, 4, "BOX"};
    here.write("other", {block_of(9, 3, exchange("alice", 1, a, b, a, b))}, "eos-swap-2022");
    const auto before = here.replay().json();
    const driver_run refused = here.replay("other");
    CHECK(refused.code() == 2);
    CHECK(refused.says("steem-2016"));
    CHECK(refused.says("eos-swap-2022"));
    CHECK(here.replay().json()["objects"] == before["objects"]);
}

TEST_CASE("a state is continued only with the log it was made from") {
    const place here;
    here.write("log", social_blocks());
    auto blocks = social_blocks();
    REQUIRE(here.replay().code() == 0);
    blocks.pop_back();
    here.write("short", blocks);
    const driver_run shorter = here.replay("short");
    CHECK(shorter.code() == 2);
    CHECK(shorter.says("stands at block 4"));
    CHECK(shorter.says("has no block 4"));
    blocks.push_back(block_of(4, 12, vote("bob", "alice", "one", 2)));
    here.write("fork", blocks);
    const driver_run fork = here.replay("fork");
    CHECK(fork.code() == 2);
    CHECK(fork.says("has another block "));
    blocks = social_blocks();
    blocks.push_back(block_of(5, 15, account("carol")));
    here.write("longer", blocks);
    const driver_run longer = here.replay("longer");
    CHECK(longer.code() == 0);
    CHECK(longer.json()["replayed_blocks"] == 1);
}

TEST_CASE("a folder with something else in it is refused and unchanged") {
    const place here;
    here.write("log", social_blocks());
    std::filesystem::create_directory(here.folder / "letters");
    write_file(here.folder / "letters/dear", "you");
    CHECK(here.replay("log", "letters").code() == 1);
    CHECK(std::distance(std::filesystem::directory_iterator(here.folder / "letters"), {}) == 1);
}

TEST_CASE("a second writer is refused") {
    const place here;
    here.write("log", social_blocks());
    const driver::chain_state open(here.folder / "state", "steem-2016", 0);
    const driver_run second = here.replay();
    CHECK(second.code() == 1);
    CHECK(second.says("state"));
}

TEST_CASE("a state beyond the block to stop at is refused") {
    const place here;
    here.write("log", social_blocks());
    REQUIRE(here.replay("log", "state", {"--stop-at", "3"}).json()["head"] == 3);
    const driver_run refused = here.replay("log", "state", {"--stop-at", "2"});
    CHECK(refused.code() == 2);
    CHECK(refused.says("beyond the block 2"));
    CHECK(here.replay("log", "state", {"--stop-at", "99"}).json()["head"] == 4);
}

TEST_CASE("a block to stop at is a decimal number, with leading zeros, too") {
    const place here;
    std::vector<block> blocks;
    for (std::uint64_t number = 1; number <= 12; ++number)
        blocks.push_back(block_of(number, static_cast<std::int64_t>(3 * number)));
    here.write("log", blocks);
    CHECK(here.replay("log", "state", {"--stop-at", "010"}).json()["head"] == 10);
    CHECK(here.replay("log", "state", {"--stop-at", "18446744073709551615"}).json()["head"] == 12);
}

TEST_CASE("damage behind the block to stop at does not matter, and before it does") {
    const place here;
    auto writer = block_log_writer::create(here.folder / "log", "steem-2016", {3, 0});
    std::uint64_t third = 0;
    for (const block& one : social_blocks()) {
        writer.flush();
        if (one.number == 3) third = writer.bytes();
        writer.append(one);
    }
    writer.close();
    std::string damaged = test::read_file(here.folder / "log");
    damaged[third + 40] ^= 1;
    write_file(here.folder / "log", damaged);
    for (int run = 0; run < 2; ++run) { // the second one is there already
        const driver_run stopped = here.replay("log", "state", {"--stop-at", "2"});
        CHECK(stopped.code() == 0);
        CHECK(stopped.json()["head"] == 2);
    }
    const driver_run failed = here.replay("log", "state", {"--stop-at", "3"});
    CHECK(failed.code() == 1);
    CHECK(failed.says("block 3"));
}

TEST_CASE("a report that stdout does not take ends with 1, and the state is closed and complete") {
    const place here;
    here.write("log", social_blocks());
    const std::vector<std::string> call{"replay",  "--block-log",         here.folder / "log",
                                        "--state", here.folder / "state", "--json"};
    const driver_run unread = driver_process(call, "/dev/full").wait();
    CHECK(unread.code() == 1);
    CHECK(unread.says("stdout"));
    const auto again = here.replay().json();
    CHECK(again["replayed_blocks"] == 0);
    CHECK(again["head"] == 4);
}

TEST_CASE(
    "an operation that is malformed or refused is named, and the state stays before its block") {
    const place here;
    const bool malformed = GENERATE(true, false);
    auto blocks = social_blocks();
    here.write("good", blocks);
    block& bad = blocks[2];
    bad.transactions.push_back(
        {{social::encode(account("carol")),
          malformed ? bytes(3, std::byte{250}) : social::encode(account("bob"))}});
    here.write("log", blocks);
    const driver_run stopped = here.replay();
    CHECK(stopped.code() == 1);
    CHECK(stopped.out.empty());
    CHECK(stopped.says("block 3, transaction 2 of 2, operation 2 of 2: "));
    CHECK(stopped.says(malformed ? "operation: byte" : "(\"bob\") is taken"));
    CHECK(stopped.says("The state stays at block 2"));
    CHECK(here.replay("log").code() == 1); // and again, from the same block
    const driver_run going_on = here.replay("good", "state", {"--verify"});
    CHECK(going_on.code() == 0);
    CHECK(going_on.json()["replayed_blocks"] == 2);
    CHECK(going_on.json()["state_digest"] == here.replay("good", "fresh").json()["state_digest"]);
}

TEST_CASE("a block numbered 0 is refused by name, and no state is made") {
    const place here;
    here.write("log", {block_of(0, 3, account("alice")), block_of(1, 6, account("bob"))});
    const driver_run refused = here.replay();
    CHECK(refused.code() == 1);
    CHECK(refused.says("number 0"));
    CHECK_FALSE(std::filesystem::exists(here.folder / "state"));
}

TEST_CASE("an empty log makes an empty state") {
    const place here;
    here.write("log", {});
    const auto said = here.replay("log", "state", {"--verify"}).json();
    CHECK(said["blocks"] == 0);
    CHECK(said["head"] == 0);
    CHECK(said["ops_per_second"] == 0);
    CHECK(here.replay("log").json()["state_digest"] == said["state_digest"]);
}
