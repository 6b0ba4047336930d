#include <tools/block_log/block_log_index.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/sample_blocks.hpp>

#include <sstream>

/// The verbs as a user calls them: what they print, and how they end.
using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

driver_run run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "block-log");
    return run_driver(std::move(arguments));
}

void write_blocks(const std::string& path, std::string_view chain,
                  const std::vector<block>& blocks) {
    auto writer = block_log_writer::create(path, chain);
    for (const block& one : blocks)
        writer.append(one);
    writer.close();
}

std::vector<json> lines_of(const std::string& text) {
    std::vector<json> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        all.push_back(json::parse(line));
    return all;
}

const std::vector<social::operation> every_social_kind{
    social::account_create{"alice"},
    social::comment{"alice", "p", {}, "cat", 1, 2, 3, 4, 5, 6, 7},
    social::vote{"bob", "alice", "p", -3, 300},
    social::custom{"bob", "follow", {std::byte{1}}},
    social::deposit{"alice", 70},
    social::transfer{"alice", "bob", 30, "memo"},
    social::claim{"alice"},
    social::comment_delete{"alice", "p"},
};

} // namespace

TEST_CASE("the project's logs: info, verify, digest, and a round trip through pieces") {
    const auto [chain, blocks, operations] = GENERATE(table<std::string, int, int>(
        {{"steem-2016", 162'689, 274'113}, {"eos-swap-2022", 81'069, 146'145}}));
    const real_log log(chain);
    const std::string path = log.path();
    const json info = run({"info", path, "--count", "--json"}).json();
    CHECK(info["chain"] == chain);
    CHECK(info["format"] == 1);
    CHECK(info["blocks"] == blocks);
    CHECK(info["operations"] == operations);
    CHECK(info["bytes"] == std::filesystem::file_size(path));
    CHECK(info["index"] == "is missing");
    CHECK(info["first"]["number"] < info["last"]["number"]);
    CHECK_FALSE(std::filesystem::exists(index_path(path)));

    const json verified = run({"verify", path, "--operations", "--json"}).json();
    CHECK(verified["good"] == true);
    CHECK(verified["operations"] == operations);
    CHECK(verified["operations_checked"] == true);

    const std::string pieces = log.state("pieces");
    const driver_run split =
        run({"split", path, "--every", "30000", "--to-folder", pieces, "--json"});
    REQUIRE(split.code() == 0);
    std::vector<std::string> merge{"merge", "--to", log.state("merged"), "--allow-gaps", "--json"};
    const json made = split.json();
    for (const json& one : made["logs"])
        merge.push_back(one["path"]);
    const driver_run merged = run(merge);
    INFO(merged.err);
    REQUIRE(merged.code() == 0);
    CHECK(merged.json()["logs"][0]["blocks"] == blocks);
    const json expected = run({"digest", path, "--json"}).json();
    CHECK(expected["operations"] == operations);
    CHECK(run({"digest", log.state("merged"), "--json"}).json() == expected);
}

TEST_CASE("every kind of operation is printed, in its transaction") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    block one{7, 1'458'835'200, {}};
    for (const social::operation& each : every_social_kind)
        one.transactions.push_back({{social::encode(each)}});
    one.transactions[0].operations.push_back(one.transactions[1].operations[0]);
    write_blocks(path, "social", {one, {8, 1'458'835'203, {}}});
    const auto lines = lines_of(run({"print", path, "--operations"}).out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["number"] == 7);
    CHECK(lines[0]["time"] == 1'458'835'200);
    CHECK(lines[0]["transactions"] == 8);
    CHECK(lines[0]["operations"] == 9);
    const json& content = lines[0]["content"];
    CHECK(content[0].size() == 2);
    std::vector<std::string> kinds;
    for (const json& part : content)
        kinds.push_back(part[0]["kind"]);
    CHECK(kinds == std::vector<std::string>{"account_create", "comment", "vote", "custom",
                                            "deposit", "transfer", "claim", "comment_delete"});
    CHECK(
        content[5][0] ==
        json::parse(R"({"kind":"transfer","from":"alice","to":"bob","amount":30,"memo":"memo"})"));
    CHECK(content[3][0]["payload"] == "01");
    CHECK(lines[1] ==
          json::parse(
              R"({"number":8,"time":1458835203,"transactions":0,"operations":0,"content":[]})"));
}

TEST_CASE("print keeps to its range and limit, also as one object") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    const auto blocks = sample_blocks(30);
    write_log(path, blocks, 200);
    const std::string from = std::to_string(blocks[5].number);
    const std::string to = std::to_string(blocks[9].number);
    const auto lines = lines_of(run({"print", path, "--from", from, "--stop-at", to}).out);
    REQUIRE(lines.size() == 5);
    CHECK(lines.front()["number"] == blocks[5].number);
    CHECK(lines.back()["number"] == blocks[9].number);
    CHECK_FALSE(lines[0].contains("content"));
    const json object =
        run({"print", path, "--from", from, "--limit", "3", "--operations", "--json"}).json();
    CHECK(object["chain"] == sample_chain);
    REQUIRE(object["blocks"].size() == 3);
    std::size_t shown = 0; // an unknown chain's operations are hex
    for (const json& part : object["blocks"][0]["content"])
        for (const json& operation : part)
            shown += operation["hex"].is_string();
    CHECK(shown == object["blocks"][0]["operations"]);
    CHECK(run({"print", path, "--limit", "0"}).out.empty());
    CHECK(run({"print", path, "--limit", "0", "--json"}).json()["blocks"].empty());
    CHECK(run({"print", path, "--from", "-1"}).code() == 2);
}

TEST_CASE("an operation that does not decode is printed in hex, and the call fails") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    write_blocks(path, payments::chain_name, {{1, 0, {{{{std::byte{0x63}}}}}}});
    const driver_run printed = run({"print", path, "--operations"});
    CHECK(printed.code() == 1);
    CHECK(printed.says("1 operations do not decode"));
    const json operation = lines_of(printed.out).at(0)["content"][0][0];
    CHECK(operation["hex"] == "63");
    CHECK(operation["fault"].is_string());
    CHECK(run({"verify", path}).code() == 0);
    const driver_run verified = run({"verify", path, "--operations", "--json"});
    CHECK(verified.code() == 1);
    CHECK(verified.json()["fault_count"] == 1);
}

TEST_CASE("damage fails the call, and is told in JSON") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    const auto blocks = sample_blocks(10);
    write_log(path, blocks);
    std::string bytes = read_file(path);
    bytes[bytes.size() / 2] ^= 1;
    write_file(path, bytes);
    const driver_run verified = run({"verify", path, "--json"});
    CHECK(verified.code() == 1);
    const json found = verified.json();
    CHECK(found["good"] == false);
    REQUIRE(found["lost"].size() == 1);
    CHECK(found["survives"].size() == 2);
    CHECK(found["blocks"] == 9);
    CHECK(run({"verify", path}).out.find("NOT GOOD") != std::string::npos);

    const driver_run printed = run({"print", path, "--json"});
    CHECK(printed.code() == 1);
    CHECK(printed.json()["ended"] == "damaged");
    CHECK(printed.json()["blocks"].back()["number"] == found["lost"][0]["block_before"]);
    CHECK(run({"digest", path}).code() == 1);

    const driver_run saved = run({"salvage", path, "--to-folder", folder / "saved", "--json"});
    CHECK(saved.code() == 0);
    CHECK(saved.json()["logs"].size() == 2);
    CHECK(saved.json()["lost_bytes"] == found["lost"][0]["bytes"]);
    const driver_run first = run({"salvage", path, "--to", folder / "first"});
    CHECK(first.code() == 0);
    CHECK(first.out.find("--to-folder") != std::string::npos);
    std::filesystem::remove(index_path(path));
    CHECK(run({"info", path}).code() == 1);
    CHECK(run({"repair-index", path, "--json"}).code() == 1);
}

TEST_CASE("calls that do not fit together are wrong calls") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    write_log(path, sample_blocks(10));
    const std::string before = read_file(path);
    const std::string to = folder / "to";
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"info"},
        {"split", path, "--to-folder", to},
        {"split", path, "--to-folder", to, "--at", "1001", "--every", "3"},
        {"split", path, "--to-folder", to, "--every", "0"},
        {"split", path, "--to-folder", to, "--at", "1"},
        {"merge", "--to", to},
        {"merge", path, path, "--to", to},
        {"merge", path, "--to", path},
        {"trim", path, "--to", path},
        {"trim", path, "--to", to, "--from", "20", "--stop-at", "10"},
        {"digest", path, "--from", "20", "--stop-at", "30"},
        {"print", path, "--from", "20", "--stop-at", "30"},
        {"print", path, "--from", "20000", "--json"},
        {"salvage", path},
        {"salvage", path, "--to", path},
        {"salvage", path, "--to", to, "--to-folder", to},
    };
    for (const auto& call : wrong) {
        CAPTURE(call);
        CHECK(run(call).code() == 2);
    }
    CHECK(read_file(path) == before);
    CHECK_FALSE(std::filesystem::exists(to));
    CHECK(run({"info", folder / "missing"}).code() == 1);
}

TEST_CASE("the index is repaired, and that is told") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    write_log(path, sample_blocks(10));
    std::filesystem::remove(index_path(path));
    const json repaired = run({"repair-index", path, "--json"}).json();
    CHECK(repaired["changed"] == true);
    CHECK(repaired["before"] == "is missing");
    CHECK(run({"info", path, "--json"}).json()["index"] == "fits the log");
    CHECK(run({"repair-index", path, "--json"}).json()["changed"] == false);
}

TEST_CASE("the numbers to split at are told one by one, or with commas, and the log comes behind") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    const auto blocks = sample_blocks(10);
    write_log(path, blocks);
    const std::string third = std::to_string(blocks[3].number);
    const std::string sixth = std::to_string(blocks[6].number);
    const std::vector<std::vector<std::string>> calls{
        {"split", "--at", third, "--at", sixth, path, "--json", "--to-folder", folder / "a"},
        {"split", "--at", third + "," + sixth, path, "--json", "--to-folder", folder / "b"},
    };
    for (const auto& call : calls) {
        CAPTURE(call);
        CHECK(run(call).json()["logs"].size() == 3);
    }
    CHECK(run({"split", path, "--to-folder", folder / "c", "--at", third, sixth}).code() == 2);
}

TEST_CASE("a report that stdout does not take is a failure") {
    const temporary_folder folder;
    const std::string path = folder / "log";
    write_log(path, sample_blocks(10));
    for (const char* verb : {"info", "verify", "digest", "print"}) {
        driver_process process({"block-log", verb, path}, "/dev/full");
        const driver_run failed = process.wait();
        CHECK(failed.code() == 1);
        CHECK(failed.says("the work itself is done") == (verb != std::string_view("print")));
    }
}
