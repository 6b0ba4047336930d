// The machine loses power at each call that a checkpoint makes to its disk, which then has kept,
// torn or lost what was not synced: what opens afterwards is a published checkpoint, the last one
// that was promised or one that was under way. If that one is damaged besides, it is the one
// before.

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>
#include <tests/failure/checkpointed_chain.hpp>

#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

class loss_of_power {
public:
    loss_of_power(const checkpointed_chain& chain, random_source& random)
        : chain_(chain), random_(random) {}

    /// Before call number count() of the chain's disk.
    void happen(simulated_disk::call which, const fs::path& file) {
        if (!problem.empty() || which == simulated_disk::call::read) return;
        is_publishing_ = is_publishing_ || file.filename().string().starts_with("published");
        try {
            lose_power();
            if (!is_publishing_ && chain_.promised > 1) lose_power_and_newest();
        } catch (const std::exception& e) {
            problem = "call " + std::to_string(count) + ": " + e.what();
        }
        ++count;
    }
    void begin() { is_publishing_ = false; }

    std::uint64_t count = 0;
    std::string problem;

private:
    void lose_power() {
        simulated_disk after(chain_.disk);
        after.lose_power(random_);
        const std::uint64_t found = chain_.restored_from(after);
        expect(found >= chain_.promised, "restored " + std::to_string(found) + ", promised " +
                                             std::to_string(chain_.promised));
    }
    void lose_power_and_newest() {
        simulated_disk after(chain_.disk);
        after.lose_power(random_);
        const auto number = (chain_.promised - 1) % 2; // they take turns
        after.flip(chain_.state() / "checkpoint" / ("published." + std::to_string(number)), 0);
        const std::uint64_t found = chain_.restored_from(after);
        expect(found == chain_.promised - 1, "restored " + std::to_string(found) +
                                                 " in place of the damaged " +
                                                 std::to_string(chain_.promised));
    }

    const checkpointed_chain& chain_;
    random_source& random_;
    bool is_publishing_ = false;
};

} // namespace

TEST_CASE("power lost at each call of checkpoints") {
    spdlog::set_level(spdlog::level::off);
    std::uint64_t losses = 0;
    const std::uint64_t chains = test_operations(60'000) / 20'000;
    for (std::uint64_t n = 0; n < chains; ++n) {
        const std::uint64_t seed = test_seed(new_seed());
        CAPTURE(seed);
        random_source random(seed);
        checkpointed_chain chain(seed, checkpointed_chain::when_asked());
        loss_of_power loss(chain, random);
        for (int round = 0; round < 14; ++round) {
            if (round % 4 == 3) chain.reopen();
            for (std::uint32_t steps = 1 + random.below(6); steps > 0; --steps)
                chain.apply();
            loss.begin();
            chain.disk.before = [&](auto which, const fs::path& file) { loss.happen(which, file); };
            chain.make_checkpoint();
            chain.disk.before = nullptr;
            INFO("round " << round);
            REQUIRE(loss.problem == "");
        }
        losses += loss.count;
    }
    spdlog::set_level(spdlog::level::warn);
    WARN(losses << " losses of power"); // each as chance had it
    CHECK(losses > 100 * chains);
}
