#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <catch2/catch.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/simulated_disk.hpp>
#include <tests/tools/sample_logs.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

/// Disks that are full, fail or lose power under a block log, at each call. A call that threw may
/// be repeated; what a successful sync covered is there afterwards.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;

namespace fs = std::filesystem;

// --- a full disk ---

TEST_CASE("without room for a record the log keeps its last good block, at every size") {
    const sample_log complete(3);
    const sample_log log(2);
    const std::string& good = log.whole;
    for (std::size_t room = good.size(); room < complete.whole.size(); ++room) {
        fs::remove(log.path);
        write_log(log.path, log.blocks);
        auto writer = block_log_writer::open(log.path, sample_chain);
        writer.append(complete.blocks[2]);
        {
            const file_size_limit limit(room);
            REQUIRE_THROWS_AS(writer.flush(), out_of_space_error);
            REQUIRE_THROWS_AS(writer.flush(), out_of_space_error);
        }
        REQUIRE(read_all(log.path) == good);
        REQUIRE(writer.count() == 3);
        writer.close(); // there is room again
        REQUIRE(read_all(log.path) == complete.whole);
    }
}

TEST_CASE("a block is not appended when the batch before it finds no room") {
    const auto blocks = sample_blocks(2);
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain, {3, 0});
    writer.append(blocks[0]);
    {
        const file_size_limit limit(70);
        CHECK_THROWS_WITH(writer.append(blocks[1]),
                          Contains((folder / "log").string()) && Contains("at byte 64"));
        CHECK(writer.head_number() == blocks[0].number);
    }
    writer.append(blocks[1]);
    writer.close();
    CHECK(read_log(folder / "log") == blocks);
}

TEST_CASE("without room for the header no log is left behind") {
    const temporary_folder folder;
    const file_size_limit limit(20);
    CHECK_THROWS_AS(block_log_writer::create(folder / "log", sample_chain), out_of_space_error);
    CHECK_FALSE(fs::exists(folder / "log"));
}

TEST_CASE("without room a writer going away says so and the log stays valid") {
    const sample_log log(1);
    const captured_log said;
    {
        auto writer = block_log_writer::open(log.path, sample_chain);
        writer.append({5000, 0, {}});
        const file_size_limit limit(log.whole.size());
        // The limit must outlive the writer, whose destructor is to meet it.
        const auto killed_process = std::make_unique<block_log_writer>(std::move(writer));
    }
    CHECK(said.says("1 blocks are not written"));
    CHECK(read_all(log.path) == log.whole);
}

// --- a disk that a test has in its hands ---

namespace {

using call = simulated_disk::call;

const fs::path log_path = "/logs/log";

/// A block log on such a disk, with what was appended and what is promised.
class disk_log {
public:
    explicit disk_log(std::uint64_t seed) : all_(sample_blocks(400, seed)) {}

    [[nodiscard]] static block_log_options options_on(chainbase::disk& on) { return {3, 0, &on}; }

    void create() {
        writer_.emplace(block_log_writer::create(log_path, sample_chain, options_on(disk)));
        is_made = true;
    }
    void open() {
        writer_.emplace(block_log_writer::open(log_path, sample_chain, options_on(disk)));
    }
    /// A record each.
    void append(int blocks = 1) {
        for (; blocks > 0; --blocks) {
            writer_->append(all_[appended]);
            ++appended;
            writer_->flush();
        }
    }
    void flush() { writer_->flush(); }
    void sync() {
        writer_->sync();
        promised = appended;
    }
    void close() {
        writer_->close();
        promised = appended;
        writer_.reset();
    }
    void kill() {
        if (writer_) writer_->abandon();
        writer_.reset();
    }
    [[nodiscard]] bool is_open() const noexcept { return writer_.has_value(); }

    /// The blocks of the log on that disk.
    [[nodiscard]] static std::vector<block> read(chainbase::disk& on) {
        opening_options how;
        how.on = &on;
        return read_all(block_log_reader(log_path, sample_chain, how).stream());
    }
    [[nodiscard]] std::vector<block> first(std::size_t count) const {
        return first_of(all_, count);
    }
    [[nodiscard]] const block& block_at(std::size_t place) const { return all_.at(place); }

    /// The next `times` syncs fail.
    void fail_syncs(int times) {
        disk.before = [left = times](call which, const fs::path& file) mutable {
            if (which == call::sync && left-- > 0) throw io_error(file.string() + ": sync failed");
        };
    }
    /// Several losses of power leave what was appended, at least so many blocks of it.
    void check_losses(const simulated_disk& at, std::size_t least, random_source& random,
                      int times) const {
        for (int i = 0; i < times; ++i) {
            simulated_disk after(at);
            after.lose_power(random);
            const std::vector<block> found = read(after);
            REQUIRE(found.size() >= least);
            REQUIRE(found == first(found.size()));
        }
    }

    simulated_disk disk;
    std::size_t appended = 0; ///< blocks, of which one more may be under way
    std::size_t promised = 0; ///< blocks covered by a successful sync
    bool is_made = false;     ///< it was said that there is a log

private:
    std::vector<block> all_;
    std::optional<block_log_writer> writer_;
};

} // namespace

// --- each call fails ---

namespace {

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

private:
    void reach(call which, const fs::path& file) {
        if (which == call::read) return;
        ++calls;
        if (calls != what_.number && !(what_.is_lasting && calls > what_.number)) return;
        if (what_.is_room && (which == call::write || which == call::open))
            throw out_of_space_error(file.string() + ": no room");
        throw io_error(file.string() + ": input/output error");
    }
    static void twice(const std::function<void()>& action) {
        for (int left = 2; left > 0; --left)
            try {
                return action();
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

/// Every call fails in turn. Returns how many there were.
std::uint64_t fail_each(std::uint64_t seed, failure what) {
    for (what.number = 1;; ++what.number) {
        failing_life life(seed, what);
        life.run();
        disk_log& log = life.log;
        INFO("call " << what.number);
        if (!what.is_lasting) {
            REQUIRE(log.appended == 8); // all calls worked when they were repeated
            REQUIRE(disk_log::read(log.disk) == log.first(8));
        }
        log.disk.before = nullptr;
        log.kill();
        random_source random(seed + what.number);
        if (log.promised > 0) // else even the name may be gone
            log.check_losses(log.disk, log.promised, random, 4);
        if (life.calls < what.number) return what.number - 1;
    }
}

} // namespace

TEST_CASE_METHOD(seeded, "each call of a block log to its disk failing") {
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
    log.append(2);
    int left = 1;
    std::uint64_t written = 0;
    log.disk.before = [&](call which, const fs::path& file) {
        written += which == call::write && file == log_path ? 1 : 0;
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
    log.check_losses(log.disk, 2, random, 1);
}

TEST_CASE("a sync that fails does not move the mark") {
    disk_log log(1);
    log.create();
    log.append();
    log.sync();
    log.append();
    const auto marked = [&] {
        return load_mark(synced_path(log_path),
                         read_log_header(file::open_read(log_path, &log.disk), {}).checksum,
                         &log.disk)
            .mark.value()
            .log_bytes;
    };
    const std::uint64_t before = marked();
    const std::uint64_t after = log.disk.sizes().at(log_path);
    log.fail_syncs(INT_MAX);
    const captured_log quiet;
    CHECK_THROWS_AS(log.sync(), io_error);
    log.disk.before = nullptr;
    CHECK(marked() == before);
    log.sync();
    CHECK(marked() == after);
    log.kill();
}

TEST_CASE("a block log whose device fails to keep what a killed writer left is not appended to") {
    disk_log log(1);
    log.create();
    log.append();
    log.kill();
    log.fail_syncs(1);
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
    log.append(2);
    log.fail_syncs(INT_MAX);
    const captured_log quiet;
    CHECK_THROWS_AS(log.sync(), io_error);
    log.kill();
    random_source random(1);
    (void)disk_log::read(log.disk); // where all of it is seen
    std::deque<simulated_disk> at_each_call;
    log.disk.before = [&](call which, const fs::path&) {
        if (which != call::read) at_each_call.emplace_back(log.disk);
    };
    log.open();
    log.disk.before = nullptr;
    for (const simulated_disk& one : at_each_call)
        log.check_losses(one, 1, random, 8);
    log.append();
    if (is_promised) log.sync();
    log.kill();
    log.check_losses(log.disk, is_promised ? 4 : 3, random, 20);
}

TEST_CASE("what a failed sync has dropped for good is not called synced") {
    disk_log log(1);
    log.create();
    log.append();
    log.sync();
    log.append();
    log.fail_syncs(1);
    const captured_log quiet;
    CHECK_THROWS_AS(log.sync(), io_error);
    // A file system that shows what is on the device after a failure.
    const std::uint64_t end = log.disk.sizes().at(log_path);
    log.disk.open(log_path, disk::mode::write)->resize(end - 30);
    CHECK_THROWS_AS(log.sync(), damaged_error);
    CHECK_THROWS_AS(log.sync(), damaged_error);
    log.kill();
    CHECK(disk_log::read(log.disk) == log.first(1));
}

// --- the power goes ---

namespace {

/// Power is lost before a call of the log's disk, which keeps, tears or loses unsynced data, so
/// that a later record may exist without an earlier one. Reopening finds a prefix of the appended
/// blocks with at least all synced ones; the log continues from there, through the next loss, too.
/// Only an unfinished new log may be missing.
class loss_of_power {
public:
    loss_of_power(const disk_log& log, random_source& random) : log_(log), random_(random) {}

    void happen(call which) {
        if (!problem.empty() || which == call::read) return;
        try {
            for (int i = 0; i < 2; ++i)
                try_one();
        } catch (const std::exception& e) {
            problem = "call " + std::to_string(calls_) + ": " + e.what();
        }
        ++calls_;
    }

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
        if (!after.sizes().contains(log_path)) return false;
        try {
            (void)read_log_header(file::open_read(log_path, &after), {});
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
        unordered += said.says("no promised block is lost") ? 1 : 0;
        go_on_unsynced(after, found);
        go_on(after, std::move(found));
    }
    /// What was cut is cut for good: the next block follows, and is there after a sync.
    void go_on(simulated_disk& after, std::vector<block> found) {
        const block next{100'000, 0, {}};
        auto writer = block_log_writer::open(log_path, sample_chain, disk_log::options_on(after));
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
        auto writer = block_log_writer::open(log_path, sample_chain, disk_log::options_on(on));
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
    std::uint64_t calls_ = 0;
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

TEST_CASE_METHOD(seeded, "power lost at each call of a block log") {
    const captured_log quiet;
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
