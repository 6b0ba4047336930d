// Where finished objects go is chosen when a state is made, and changes nothing of what it says.

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <fstream>
#include <map>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("a replay comes to the same state with any archive") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    std::map<std::string, json> said;
    for (const std::string archive : {"rocksdb", "memory", "none"}) {
        CAPTURE(chain, archive);
        REQUIRE(
            run_driver(log.replay({"--archive", archive, "--stop-at", "1000"}, archive)).code() ==
            0);
        const driver_run rest = run_driver(log.replay({"--verify"}, archive));
        INFO(rest.err);
        REQUIRE(rest.code() == 0);
        said[archive] = rest.json();
        CHECK(said[archive]["state_digest"] == digest_at_end(chain));
        CHECK(said[archive]["archive"]["store"] == archive);
    }
    if (chain != "steem-2016") return; // the other one archives nothing
    CHECK(said["rocksdb"]["archived"] == said["memory"]["archived"]);
    CHECK(said["memory"]["archive"]["rows"] > 0);
    for (const std::string kept : {"rocksdb", "memory"}) {
        CAPTURE(kept);
        const json& archive = said[kept]["archive"]; // of the second run
        const json& steps = archive["hand_over"];
        CHECK(archive["rows"] > 0);
        CHECK(archive["record_bytes"] > 0);
        CHECK(archive["bytes"] > archive["record_bytes"]);
        CHECK(archive["failures"] == 0);
        CHECK(steps["objects"] == archive["rows"]);
        CHECK(steps["largest_batch_rows"] > 1);
        CHECK(steps["largest_batch_rows"] <= archive["rows"]);
        CHECK(steps["writing"] == archive["batches"]);
        for (const char* step : {"encoding", "writing", "removing"}) {
            CHECK(steps[step]["count"] > 0);
            CHECK(steps[step]["seconds"] > 0);
            CHECK(steps[step]["p50_us"] <= steps[step]["p999_us"]);
        }
        CHECK(archive["hit_in_memory"]["count"] > archive["hit_in_memory"]["measured"]);
        CHECK(archive["miss"]["count"] == archive["miss"]["measured"]);
        CHECK(archive["hit_in_memory"]["count"] == said[kept]["lookups"]["hit_in_memory"]);
    }
    CHECK(said["memory"]["archive"]["engine"].is_null());
    CHECK(said["none"]["archive"]["engine"].is_null());
    const json& engine = said["rocksdb"]["archive"]["engine"];
    CHECK(engine["log_bytes"].get<std::uint64_t>() + engine["ingested_bytes"].get<std::uint64_t>() >
          said["rocksdb"]["archive"]["record_bytes"]);
    for (const char* figure :
         {"block_hits", "block_misses", "filter_hits", "filter_misses", "flushed_bytes",
          "compacted_bytes", "stalled_seconds", "cache_bytes", "filter_and_index_bytes",
          "hint_bytes", "buffer_bytes", "files", "file_bytes"})
        CHECK(engine[figure].is_number());
    CHECK(said["none"]["archived"]["comment"] == 0);
    CHECK(said["none"]["archive"]["rows"] == 0);
    CHECK(said["none"]["verified"]["in_archive"] == 0);
    CHECK(said["memory"]["verified"]["in_archive"] == said["rocksdb"]["verified"]["in_archive"]);
}

TEST_CASE("what became of the archive is in the trace and in the report alike") {
    const real_log log("steem-2016");
    const auto lines = log.state("trace-log");
    const auto events = log.state("trace");
    const driver_run run =
        run_driver(log.replay({"--trace-log", lines.string(), "--trace", events.string()}));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    const json archive = run.json()["archive"];

    std::map<std::string, std::uint64_t> counted;
    std::ifstream in(lines);
    for (std::string line; std::getline(in, line);) {
        const json one = json::parse(line);
        for (const auto& [name, counter] : one["counters"].items())
            counted[name] += counter["count"].get<std::uint64_t>();
        for (const char* span : {"archive.encode", "archive.write", "archive.hand_over"})
            if (one["spans"].contains(span))
                counted[span] += one["spans"][span]["count"].get<std::uint64_t>();
    }
    CHECK(counted["archive.hits_in_memory"] == archive["hit_in_memory"]["count"]);
    CHECK(counted["archive.hits"] == archive["hit_in_archive"]["count"]);
    CHECK(counted["archive.misses"] == archive["miss"]["count"]);
    CHECK(counted["archive.rows"] == archive["rows"]);
    CHECK(counted["archive.record_bytes"] == archive["record_bytes"]);
    CHECK(counted["archive.handed_over"] == archive["hand_over"]["objects"]);
    CHECK(counted["archive.log_bytes"] == archive["engine"]["log_bytes"]);
    CHECK(counted["archive.write"] == archive["hand_over"]["writing"]["count"]);
    CHECK(counted["archive.encode"] == archive["hand_over"]["encoding"]["count"]);
    CHECK(counted["archive.hand_over"] == archive["hand_over"]["removing"]["count"]);

    std::map<std::int64_t, std::string> threads;
    std::map<std::string, std::size_t> writes; // by thread
    const json all = json::parse(read_file(events));
    for (const json& one : all)
        if (one["name"] == "thread_name") threads[one["tid"]] = one["args"]["name"];
    for (const json& one : all)
        if (one["name"] == "archive.write" && one["ph"] == "X") ++writes[threads[one["tid"]]];
    CHECK(writes["archive"] > 0); // behind the back of the thread that applies
}

TEST_CASE("an archive stays what it was made as, and another one is refused by name") {
    const real_log log("steem-2016");
    for (const std::string made : {"rocksdb", "memory", "none"}) {
        REQUIRE(run_driver(log.replay({"--archive", made, "--stop-at", "500"}, made)).code() == 0);
        for (const std::string asked : {"rocksdb", "memory", "none"}) {
            if (asked == made) continue;
            const driver_run refused = run_driver(log.replay({"--archive", asked}, made));
            CHECK(refused.code() == 2);
            CHECK_THAT(refused.err, Contains("`" + made + "`") && Contains("`" + asked + "`") &&
                                        Contains((log.state(made) / "archive").string()));
        }
        CHECK(run_driver(log.replay({"--stop-at", "600"}, made)).code() == 0);
    }
}

TEST_CASE("a folder that is no archive is refused for every kind and not touched") {
    const real_log log("steem-2016");
    for (const std::string kind : {"rocksdb", "memory", "none"}) {
        REQUIRE(run_driver(log.replay({"--archive", kind, "--stop-at", "100"}, kind)).code() == 0);
        const auto archive = log.state(kind) / "archive";
        std::filesystem::remove_all(archive);
        std::filesystem::create_directory(archive);
        std::filesystem::permissions(archive, std::filesystem::perms::owner_all);
        std::ofstream(archive / "notes") << "mine";
        const driver_run refused = run_driver(log.replay({"--archive", kind}, kind));
        CHECK(refused.code() == 1);
        CHECK_THAT(refused.err, Contains(archive.string()) && Contains("format"));
        CHECK_FALSE(std::filesystem::exists(archive / "format"));
        CHECK(std::filesystem::exists(archive / "notes"));
    }
}
