// The machine loses power at each call that a block log makes to its disk, which then has kept,
// torn or lost what was not synced, so that of several records a later one may be there without an
// earlier one. What opens afterwards is the begin of what was appended, at least all that was
// synced; the log goes on from there, through the next loss as well, and nobody has to do anything.
// Only a log whose making was not over may be none.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/disk_log.hpp>

#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

class loss_of_power {
public:
    loss_of_power(const disk_log& log, random_source& random) : log_(log), random_(random) {}

    /// Before a call of the log's disk.
    void happen(simulated_disk::call which) {
        if (!problem.empty() || which == simulated_disk::call::read) return;
        try {
            for (int i = 0; i < 2; ++i)
                try_one();
        } catch (const std::exception& e) {
            problem = "call " + std::to_string(calls) + ": " + e.what();
        }
        ++calls;
    }

    std::uint64_t calls = 0;
    std::uint64_t opened = 0;
    std::uint64_t shortened = 0;
    std::uint64_t unordered = 0; ///< a later record was there without an earlier one
    std::uint64_t absent = 0;
    std::string problem;

private:
    void try_one() {
        simulated_disk after(log_.disk);
        after.lose_power(random_);
        if (!log_.is_made && !is_a_log(after)) {
            ++absent;
            return;
        }
        look(after);
        ++opened;
    }
    /// A name or a header may be missing as long as nobody was told that there is a log.
    [[nodiscard]] static bool is_a_log(simulated_disk& after) {
        const auto sizes = after.sizes();
        if (!sizes.contains(disk_log::path)) return false;
        try {
            (void)read_log_header(file::open_read(disk_log::path, &after), {});
            return true;
        } catch (const error&) {
            return false;
        }
    }
    void look(simulated_disk& after) {
        const captured_log said;
        std::vector<block> found = disk_log::read(after);
        expect(found.size() >= log_.promised, "has " + std::to_string(found.size()) +
                                                  " blocks, promised " +
                                                  std::to_string(log_.promised));
        expect(found == log_.first(found.size()), "other blocks than were appended");
        shortened += said.says("the end is torn") ? 1 : 0;
        unordered += said.says("nobody was promised it") ? 1 : 0;
        go_on_unsynced(after, found);
        go_on(after, std::move(found));
    }
    /// What was cut is cut for good: the next block follows, and is there after a sync.
    void go_on(simulated_disk& after, std::vector<block> found) {
        const block next{100'000, 0, {}};
        auto writer =
            block_log_writer::open(disk_log::path, sample_chain, disk_log::options_on(after));
        writer.append(next);
        writer.sync();
        writer.abandon();
        simulated_disk again(after);
        again.lose_power(random_);
        found.push_back(next);
        expect(disk_log::read(again) == found, "what was appended afterwards is not there");
    }
    /// Power goes a second time, before the next sync: what was cut does not come back behind it.
    void go_on_unsynced(const simulated_disk& after, const std::vector<block>& found) {
        simulated_disk on(after);
        std::vector<block> all = found;
        auto writer =
            block_log_writer::open(disk_log::path, sample_chain, disk_log::options_on(on));
        for (std::size_t i = 0; i < 3; ++i) { // the blocks that would have come, as peers send them
            all.push_back(log_.block_at(found.size() + i));
            writer.append(all.back());
            writer.flush();
        }
        writer.abandon();
        on.lose_power(random_);
        const std::vector<block> left = disk_log::read(on);
        expect(left.size() >= found.size(), "a second loss of power takes what the first one left");
        expect(left == first_of(all, left.size()), "what was cut came back");
    }

    const disk_log& log_;
    random_source& random_;
};

void do_something(disk_log& log, random_source& random) {
    if (!log.is_open()) return log.open();
    switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
        return log.sync();
    case 3:
        return log.close();
    case 4:
        return log.kill();
    default:
        return log.append();
    }
}

} // namespace

TEST_CASE("power lost at each call of a block log") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    const captured_log quiet;
    random_source random(seed);
    std::uint64_t opened = 0;
    std::uint64_t shortened = 0;
    std::uint64_t unordered = 0;
    std::uint64_t absent = 0;
    for (int round = 0; round < 12; ++round) {
        disk_log log(seed + static_cast<std::uint64_t>(round));
        loss_of_power loss(log, random);
        log.disk.before = [&](auto which, const fs::path&) { loss.happen(which); };
        log.create();
        for (int step = 0; step < 60; ++step) {
            do_something(log, random);
            INFO("round " << round << " step " << step);
            REQUIRE(loss.problem == "");
        }
        log.disk.before = nullptr;
        log.kill();
        opened += loss.opened;
        shortened += loss.shortened;
        unordered += loss.unordered;
        absent += loss.absent;
    }
    CAPTURE(opened, shortened, unordered, absent);
    CHECK(opened > 1000);
    CHECK(shortened > 10);
    CHECK(unordered > 50);
    CHECK(absent > 20);
}
