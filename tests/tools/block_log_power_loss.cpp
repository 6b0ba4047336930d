// The machine loses power at each call that a block log makes to its disk, which then has kept,
// torn or lost what was not synced. What opens afterwards is the begin of what was appended, at
// least all that was synced, and the log goes on from there. Where two records or more were not
// synced, a later one may be there without an earlier one. No reader can tell that from damage, so
// it is refused with the place and the advice, and all that was synced is in front of that place.

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
            for (int i = 0; i < 3; ++i)
                try_one();
        } catch (const std::exception& e) {
            problem = "call " + std::to_string(calls) + ": " + e.what();
        }
        ++calls;
    }

    std::uint64_t calls = 0;
    std::uint64_t opened = 0;
    std::uint64_t shortened = 0;
    std::uint64_t refused = 0;
    std::uint64_t absent = 0;
    std::string problem;

private:
    void try_one() {
        simulated_disk after(log_.disk);
        after.lose_power(random_);
        const auto sizes = after.sizes();
        const auto file = sizes.find(disk_log::path);
        const bool has_header = file != sizes.end() && file->second >= 64;
        if (!has_header) {
            expect(log_.promised == 0, "the log is gone");
            ++absent;
            return;
        }
        try {
            look(after);
        } catch (const damaged_error& e) {
            refuse(after, e.what());
        } catch (const format_error& e) { // the header did not come there, what follows it did
            expect(log_.promised == 0, e.what());
            ++absent;
        }
    }
    void look(simulated_disk& after) {
        const captured_log said;
        const std::vector<block> found = disk_log::read(after);
        expect(found.size() >= log_.promised, "has " + std::to_string(found.size()) +
                                                  " blocks, promised " +
                                                  std::to_string(log_.promised));
        expect(found == log_.first(found.size()), "other blocks than were appended");
        ++opened;
        shortened += said.says("the end is torn") ? 1 : 0;
        go_on(after, found);
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
    void refuse(simulated_disk& after, const std::string& said) {
        ++refused;
        const bool is_header = said.find("header") != std::string::npos;
        if (is_header) return expect(log_.promised == 0, said);
        expect(said.find("valid again") != std::string::npos, said);
        expect(log_.appended + 1 >= log_.promised + 2, "one record was not synced: " + said);
        const file log = file::open_read(disk_log::path, &after);
        std::uint64_t at = 64;
        std::size_t whole = 0;
        while (const auto record = check_record(log, at, log.size()).record) {
            at = record->end();
            ++whole;
        }
        expect(whole >= log_.promised, "what was synced is damaged: " + said);
        expect(said.find("byte " + std::to_string(at)) != std::string::npos, said);
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
    std::uint64_t refused = 0;
    std::uint64_t absent = 0;
    for (int round = 0; round < 20; ++round) {
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
        refused += loss.refused;
        absent += loss.absent;
    }
    CAPTURE(opened, shortened, refused, absent);
    CHECK(opened > 1000);
    CHECK(shortened > 10);
    CHECK(absent > 20);
    CHECK(refused < opened / 2);
}
