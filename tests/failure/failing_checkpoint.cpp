// The disk of checkpoints fails: the state goes on, the checkpoint before stays, and the next one
// is whole. A sync that failed loses what was written, and no later one brings it back.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>
#include <tests/failure/checkpointed_chain.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

using failure = std::function<void()>;

/// After the machine restarted: from the disk alone.
std::uint64_t restored_after_a_loss(const checkpointed_chain& chain, random_source& random) {
    simulated_disk after(chain.disk);
    after.lose_power(random);
    return chain.restored_from(after);
}

void apply_some(checkpointed_chain& chain, random_source& random) {
    for (std::uint32_t steps = 1 + random.below(4); steps > 0; --steps)
        chain.apply();
}

/// Whether the next checkpoint comes to call number `n`, which then does as `fail` says.
bool fail_at(checkpointed_chain& chain, std::uint64_t n, const failure& fail) {
    std::uint64_t calls = 0;
    chain.disk.before = [&](simulated_disk::call which, const fs::path&) {
        if (which != simulated_disk::call::read && calls++ == n) fail();
    };
    bool failed = false;
    try {
        chain.make_checkpoint();
    } catch (const error& e) {
        failed = true;
        expect(std::string(e.what()).find("as asked for") != std::string::npos, e.what());
    }
    chain.disk.before = nullptr;
    return failed;
}

/// Lets call number `n` of a checkpoint fail. Returns whether there was one.
bool fail_call(std::uint64_t n, const failure& fail, random_source& random) {
    checkpointed_chain chain(random.next(), checkpointed_chain::when_asked());
    chain.disk.part_of_a_failed_write = random.below(8192);
    chain.disk.failed_sync_works = random.chance(500);
    for (int before = 0; before < 2; ++before) {
        apply_some(chain, random);
        chain.make_checkpoint();
    }
    apply_some(chain, random);
    const std::uint64_t digest = digest_of(chain.db());
    const bool failed = fail_at(chain, n, fail);
    expect(digest_of(chain.db()) == digest, "a failed checkpoint changes nothing");
    expect(restored_after_a_loss(chain, random) >= chain.promised, "what was promised");
    if (random.chance(500)) chain.reopen();
    apply_some(chain, random);
    // The power goes in the middle of the next one, which may not touch what the failed one may
    // have left on the disk.
    if (failed) {
        fail_at(chain, random.below(8), [&] {
            expect(restored_after_a_loss(chain, random) >= chain.promised, "what was promised");
        });
    } else {
        chain.make_checkpoint();
    }
    expect(restored_after_a_loss(chain, random) == chain.promised, "the next one is whole");
    apply_some(chain, random);
    chain.make_checkpoint();
    expect(restored_after_a_loss(chain, random) == chain.promised, "the one after that, too");
    return failed;
}

} // namespace

TEST_CASE("each call of a checkpoint's disk fails, and the next checkpoint is whole") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    spdlog::set_level(spdlog::level::off);
    random_source random(seed);
    const failure full = [] { throw out_of_space_error("full, as asked for"); };
    const failure broken = [] { throw io_error("broken, as asked for"); };
    for (const failure& fail : {full, broken}) {
        std::uint64_t calls = 0;
        for (int again = 0; again < 4; ++again)
            for (calls = 0; fail_call(calls, fail, random); ++calls) {
            }
        CHECK(calls > 5);
    }
    spdlog::set_level(spdlog::level::warn);
}

TEST_CASE("checkpoints that are made beside the writer are of one moment") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    std::uint64_t copied_ahead = 0;
    std::uint64_t most = 0; // generations in a round
    for (int round = 0; round < 12; ++round) {
        const std::uint64_t chain_seed = random.next();
        checkpointed_chain chain(chain_seed, {std::chrono::milliseconds(0), 1});
        reference_chain reference(chain_seed);
        chain.disk.before = [](simulated_disk::call which, const fs::path&) {
            if (which == simulated_disk::call::write)
                std::this_thread::sleep_for(std::chrono::microseconds(300));
        };
        const std::uint64_t steps = 20 + random.below(60);
        std::map<std::uint64_t, revision_number> digests;
        for (std::uint64_t step = 0; step < steps; ++step) {
            chain.apply();
            digests[reference.digest_after(step + 1)] = reference.revision_after(step + 1);
            const auto so_far = chain.db().memory().checkpoints();
            if (so_far.last) copied_ahead += so_far.last->copied_ahead;
        }
        const auto options =
            checkpointed_chain::options_on(chain.disk, checkpointed_chain::when_asked());
        chain.abandon(); // and with it the checkpoint under way is finished
        fs::remove_all(chain.state() / "segment");
        const world restored(chain.state(), {.verify = false, .how = options.how});
        const opening& opened = restored.db().opened();
        INFO("round " << round << ": checkpoint " << opened.generation << " of revision "
                      << opened.revision);
        REQUIRE(opened.how == opening::way::restored);
        most = std::max(most, opened.generation);
        const auto found = digests.find(digest_of(restored.db()));
        REQUIRE(found != digests.end());
        CHECK(found->second == opened.revision);
        check_keys_of(restored.db());
    }
    CHECK(most > 1);
    CHECK(copied_ahead > 0);
}
