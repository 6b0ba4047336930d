// Each call that a block log makes to its disk fails once, or from then on: no room, an error, a
// part of a write, a sync that dropped what it was to bring to the device. A call that threw may be
// repeated; what a sync that returned has promised is there after a loss of power.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/disk_log.hpp>

#include <deque>
#include <functional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

using call = simulated_disk::call;

struct failure {
    std::uint64_t number = 0; ///< of the call
    bool is_lasting = false;
    bool is_room = false;
    std::size_t part = 0;    ///< of a write that came there
    bool sync_works = false; ///< though it says that it did not
};

/// A writer's life, over a disk on which something fails.
class failing_life {
public:
    failing_life(std::uint64_t seed, const failure& what) : log(seed), what_(what) {
        log.disk.part_of_a_failed_write = what.part;
        log.disk.failed_sync_works = what.sync_works;
        log.disk.before = [this](call which, const fs::path& file) { reach(which, file); };
    }
    void run() {
        twice([&] { log.create(); });
        if (!log.is_open()) return;
        for (int i = 0; i < 8; ++i) {
            if (i == 4) reopen();
            if (!log.is_open()) return;
            const std::size_t before = log.appended;
            twice([&] { log.appended == before ? log.append() : log.flush(); });
            if (i % 3 == 2) twice([&] { log.sync(); });
        }
        twice([&] { log.close(); });
    }

    disk_log log;
    std::uint64_t calls = 0;
    std::uint64_t thrown = 0;

private:
    void reach(call which, const fs::path& file) {
        if (which == call::read) return;
        ++calls;
        if (calls != what_.number && !(what_.is_lasting && calls > what_.number)) return;
        if (what_.is_room && (which == call::write || which == call::open))
            throw out_of_space_error(file.string() + ": no room");
        throw io_error(file.string() + ": input/output error");
    }
    void twice(const std::function<void()>& action) {
        try {
            action();
        } catch (const io_error&) {
            repeat(action);
        } catch (const out_of_space_error&) {
            repeat(action);
        }
    }
    void repeat(const std::function<void()>& action) {
        ++thrown;
        try {
            action();
        } catch (const io_error&) {
        } catch (const out_of_space_error&) {
        }
    }
    void reopen() {
        twice([&] { log.close(); });
        log.kill();
        twice([&] { log.open(); });
    }

    failure what_;
};

void check_what_is_left(failing_life& life, std::uint64_t seed) {
    life.log.disk.before = nullptr;
    life.log.kill();
    random_source random(seed);
    for (int i = 0; i < 4; ++i) {
        simulated_disk after(life.log.disk);
        after.lose_power(random);
        if (life.log.promised == 0) return; // even the name may be gone
        const std::vector<block> found = disk_log::read(after);
        REQUIRE(found.size() >= life.log.promised);
        REQUIRE(found == life.log.first(found.size()));
    }
}

/// Every call fails in turn. Returns how many there were.
std::uint64_t fail_each(std::uint64_t seed, failure what) {
    for (what.number = 1;; ++what.number) {
        failing_life life(seed, what);
        life.run();
        INFO("call " << what.number);
        if (!what.is_lasting) {
            REQUIRE(life.log.appended == 8); // all calls worked when they were repeated
            REQUIRE(disk_log::read(life.log.disk) == life.log.first(8));
        }
        check_what_is_left(life, seed + what.number);
        if (life.calls < what.number) return what.number - 1;
    }
}

} // namespace

TEST_CASE("each call of a block log to its disk failing") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    const captured_log quiet;
    for (const bool is_lasting : {false, true})
        for (const bool is_room : {false, true})
            for (const std::size_t part : {0, 1, 40, 100'000})
                for (const bool sync_works : {false, true}) {
                    CAPTURE(is_lasting, is_room, part, sync_works);
                    CHECK(fail_each(seed, {0, is_lasting, is_room, part, sync_works}) > 20);
                }
}

TEST_CASE("after a failed sync of a block log what was written is written again, and it says so") {
    disk_log log(1);
    log.create();
    log.append();
    log.append();
    int left = 1;
    std::uint64_t written = 0;
    log.disk.before = [&](call which, const fs::path& file) {
        written += which == call::write && file == disk_log::path ? 1 : 0;
        if (which == call::sync && left-- > 0) throw io_error(file.string() + ": sync failed");
    };
    CHECK_THROWS_AS(log.sync(), io_error);
    CHECK(written == 0);
    const captured_log said;
    log.sync();
    CHECK(written == 2);
    CHECK(said.says("are written again"));
    log.disk.before = nullptr;
    log.kill();
    random_source random(1);
    log.disk.lose_power(random);
    CHECK(disk_log::read(log.disk) == log.first(2));
}

TEST_CASE("a block log whose device fails to keep what a killed writer left is not appended to") {
    disk_log log(1);
    log.create();
    log.append();
    log.kill();
    int left = 1;
    log.disk.before = [&](call which, const fs::path& file) {
        if (which == call::sync && left-- > 0) throw io_error(file.string() + ": sync failed");
    };
    CHECK_THROWS_AS(log.open(), io_error);
    CHECK_FALSE(log.is_open());
}

TEST_CASE(
    "what a killed writer failed to sync is on the device before the next one promises more") {
    const bool is_promised = GENERATE(true, false); // by the next writer
    disk_log log(1);
    log.create();
    log.append();
    log.sync();
    log.append();
    log.append();
    log.disk.before = [&](call which, const fs::path& file) {
        if (which == call::sync) throw io_error(file.string() + ": sync failed");
    };
    const captured_log quiet;
    CHECK_THROWS_AS(log.sync(), io_error);
    log.kill();
    random_source random(1);
    std::deque<simulated_disk> left;
    (void)disk_log::read(log.disk); // where all of it is seen
    log.disk.before = [&](call which, const fs::path&) {
        for (int i = which == call::read ? 8 : 0; i < 8; ++i)
            left.emplace_back(log.disk);
    };
    log.open();
    log.disk.before = nullptr;
    for (simulated_disk& after : left) {
        after.lose_power(random);
        const std::vector<block> found = disk_log::read(after);
        CHECK(found.size() >= 1);
        CHECK(found == log.first(found.size()));
    }
    log.append();
    if (is_promised) log.sync();
    log.kill();
    for (int i = 0; i < 20; ++i) {
        simulated_disk after(log.disk);
        after.lose_power(random);
        const std::vector<block> found = disk_log::read(after);
        CHECK(found.size() >= (is_promised ? 4 : 3));
        CHECK(found == log.first(found.size()));
    }
}

TEST_CASE("what a failed sync has dropped for good is not called synced") {
    disk_log log(1);
    log.create();
    log.append();
    log.sync();
    log.append();
    log.disk.before = [&](call which, const fs::path& file) {
        if (which == call::sync) throw io_error(file.string() + ": sync failed");
    };
    const captured_log quiet;
    CHECK_THROWS_AS(log.sync(), io_error);
    log.disk.before = nullptr;
    // A file system that shows what is on the device after a failure.
    const std::uint64_t end = log.disk.sizes().at(disk_log::path);
    log.disk.open(disk_log::path, disk::mode::write)->resize(end - 30);
    CHECK_THROWS_AS(log.sync(), damaged_error);
    CHECK_THROWS_AS(log.sync(), damaged_error);
    log.kill();
    CHECK(disk_log::read(log.disk) == log.first(1));
}
