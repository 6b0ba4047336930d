#include <tools/driver/chain_state.hpp>
#include <tools/inspect/compare/content_digest.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

/// The digest from the catalogue alone is the one that the chains' own types come to.
using namespace chainbase::test;
namespace inspect = chainbase::inspect;

namespace {

std::string digest_of(const std::filesystem::path& state, unsigned threads = 2) {
    return inspect::content_digest::of(state, {{}, threads, false}).digest;
}

} // namespace

TEST_CASE("a state's digest from outside is that of the driver with any archive") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const std::string archive = GENERATE("rocksdb", "memory", "none");
    CAPTURE(chain, archive);
    const real_log log(chain);
    const driver_run half = run_driver(log.replay({"--archive", archive, "--stop-at", "1000"}));
    REQUIRE(half.code() == 0);
    CHECK(half.json()["state_digest"] == digest_of(log.state()));
    REQUIRE(run_driver(log.replay()).code() == 0);
    for (const unsigned threads : {1U, 3U})
        CHECK(digest_of(log.state(), threads) == digest_at_end(chain));
    CHECK(digest_of(log.state().string() + "@checkpoint") == digest_at_end(chain));
    std::filesystem::remove_all(log.state() / "segment");
    const chainbase::driver::chain_state restored(log.state(), chain, 0);
    CHECK(digest_of(log.state()) == digest_at_end(chain));
}

TEST_CASE("a killed driver's state has the digest from outside that it has when it goes on") {
    const std::string archive = GENERATE("rocksdb", "memory", "none");
    const real_log log("steem-2016");
    const std::uint64_t seed = test_seed(33);
    random_source random(seed);
    int compared = 0;
    for (int run = 0; run < 20; ++run) {
        const std::string name = "state" + std::to_string(run);
        CAPTURE(archive, seed, run);
        driver_process process(log.replay({"--archive", archive}, name));
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.below(400)));
        process.send(SIGKILL);
        static_cast<void>(process.wait());
        std::string outside;
        try {
            outside = digest_of(log.state(name));
        } catch (const chainbase::error&) {
            continue; // killed before it was made
        }
        chainbase::driver::chain_state state(log.state(name), log.chain(), 0);
        if (state.head() == 0) continue; // has nothing that it would open
        CHECK(outside == state.model().state_digest());
        ++compared;
    }
    CHECK(compared > 0);
}
