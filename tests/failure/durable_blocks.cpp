// With durability::commit: power is lost at each call to the disk, calls fail, bits flip. Opening
// restores the state after the last synced block or a later one, never anything else, and bit for
// bit.

#include <chainbase/checkpoint/redo_files.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>
#include <tests/failure/chains_on_disk.hpp>
#include <tests/support/modelled_type.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

/// Loses power before calls of the chain's disk, in any thread.
class losses {
public:
    losses(durable_chain& chain, random_source& random) : chain_(chain), random_(random) {
        chain.disk.before = [this](simulated_disk::call which, const fs::path&) {
            if (which != simulated_disk::call::read) happen();
        };
    }
    ~losses() { chain_.disk.before = nullptr; }

    std::uint64_t count = 0;
    std::string problem;

private:
    void happen() {
        const std::lock_guard lock(mutex_);
        if (!problem.empty()) return;
        try {
            chain_.restored_after_a_loss(random_);
        } catch (const std::exception& e) {
            problem = "call " + std::to_string(count) + ": " + e.what();
        }
        ++count;
    }

    durable_chain& chain_;
    random_source& random_;
    std::mutex mutex_;
};

/// A digest of all records that can be undone.
std::uint64_t digest_of_log(database& db) {
    const undo_log& log = *db.memory().log();
    digest all;
    if (!log.has_session()) return all.value();
    log.each_record_down_to(log.words().oldest, [&](record_trailer trailer, const std::byte* body) {
        all.add(trailer.bits);
        all.add(std::string_view(reinterpret_cast<const char*>(body), trailer.bytes()));
    });
    return all.value();
}

bool is_redo(const fs::path& file) {
    return file.filename().string().starts_with("redo.");
}

/// A closed chain, reopened: the newest checkpoint, whose page table gets damaged, and an older one
/// followed by another part of the redo log.
class damaged_newest {
public:
    explicit damaged_newest(std::uint64_t seed) : chain(seed, 400) {
        chain.apply(10);
        chain.wait_until_durable();
        chain.apply(10);
        chain.wait_until_durable();
        chain.reopen();
        chain.close();
        chain.reopen();
        const checkpoint::published found = published();
        expect(found.older() && newest_run(found) != older_run(found), "two runs");
        chain.disk.flip(folder() / "pages", own_leaf(found) * checkpoint::page_bytes * 8);
    }
    [[nodiscard]] fs::path folder() const { return chain.state() / "checkpoint"; }
    [[nodiscard]] checkpoint::published published() { return {chain.disk, folder()}; }
    static checkpoint::redo_run newest_run(const checkpoint::published& of) {
        return checkpoint::run_of(of.newest()->redo);
    }
    static checkpoint::redo_run older_run(const checkpoint::published& of) {
        return checkpoint::run_of(of.older()->redo);
    }
    [[nodiscard]] bool has_files_of(checkpoint::redo_run run) {
        const auto files = checkpoint::redo_files(chain.disk, folder());
        return std::ranges::count(files, run, checkpoint::run_of) != 0;
    }

    durable_chain chain;

private:
    /// A slot of the newest page table that the older one does not use.
    static std::uint64_t own_leaf(const checkpoint::published& of) {
        std::set<checkpoint::slot> others{0};
        for (const auto& file : of.older()->files)
            for (const auto& leaf : file.leaves)
                others.insert(leaf.slot);
        for (const auto& file : of.newest()->files)
            for (const auto& leaf : file.leaves)
                if (!others.contains(leaf.slot)) return leaf.slot;
        throw mismatch("both have one page table");
    }
};

} // namespace

TEST_CASE("power lost at each call while blocks are made durable") {
    const quiet_log no_messages;
    std::uint64_t count = 0;
    const std::uint64_t chains = 1 + test_operations(40'000) / 20'000;
    for (std::uint64_t n = 0; n < chains; ++n) {
        const std::uint64_t seed = test_seed(new_seed());
        CAPTURE(seed);
        random_source random(seed);
        durable_chain chain(seed, 80, 7);
        losses loss(chain, random);
        for (int round = 0; round < 24; ++round) {
            INFO("round " << round);
            if (round % 6 == 5) chain.reopen();
            chain.apply(1 + random.below(3));
            chain.wait_until_durable();
            REQUIRE(loss.problem == "");
        }
        count += loss.count;
    }
    WARN(count << " losses of power");
    CHECK(count > 100 * chains);
}

TEST_CASE_METHOD(quietly_seeded, "what was made durable is restored without a checkpoint of it") {
    durable_chain chain(seed, 60);
    chain.apply();
    chain.wait_until_durable();
    const std::uint64_t made = chain.db().checkpoints().made;
    std::uint64_t most = 0;
    for (int step = 0; step < 50; ++step) {
        chain.apply();
        chain.wait_until_durable();
        const auto found = chain.restored_after_a_loss(random);
        most = std::max(most, found.opened.blocks);
    }
    const auto now = chain.db().checkpoints();
    CHECK(now.made == made);
    CHECK(most > 5);
    REQUIRE(now.redo);
    CHECK(now.redo->is_whole);
    CHECK(now.redo->durable >= chain.db().revision()); // the last steps may be undone
    CHECK(now.redo->failed == 0);
}

TEST_CASE_METHOD(quietly_seeded,
                 "restored blocks are what they were bit for bit and can be undone") {
    const scratch_folder folder;
    simulated_disk disk;
    walk_options options{.changes = {.objects = 150}, .verify = false, .how = quick_options()};
    options.how.durability = durability::commit;
    options.how.checkpoints.interval = std::chrono::milliseconds(0);
    options.how.checkpoint_disk = &disk;
    const fs::path state = folder / "state";
    world chain(state, options);
    std::uint64_t blocks = 0;
    for (int round = 0; round < 60; ++round) {
        if (round % 12 == 11) {
            chain.commit(chain.depth());
            chain.compact();
        }
        chain.start();
        if (round % 12 == 11) chain.db().make_checkpoint(); // within a block, and a run begins
        for (std::uint32_t changes = random.below(round % 4 == 1 ? 4000 : 100); changes > 0;
             --changes)
            chain.change_unchecked(random);
        chain.push();
        if (random.chance(200)) chain.undo();
        if (chain.depth() > 4) chain.commit(random.below(3));
        if (random.chance(150)) chain.commit(chain.depth()); // the log restarts at a lower revision
        chain.start(); // unpushed changes reach storage with the next block
        chain.change_unchecked(random);
        chain.push();
        chain.db().wait_until_durable();
        simulated_disk after(disk);
        after.lose_power(random);
        fs::rename(state, folder / "away");
        options.how.checkpoint_disk = &after;
        {
            world restored(state, options);
            blocks += restored.db().opened().blocks;
            REQUIRE(restored.db().opened().how == opening::way::restored);
            REQUIRE(restored.take_snapshot().difference(chain.take_snapshot()) == "");
            REQUIRE(digest_of_log(restored.db()) == digest_of_log(chain.db()));
            REQUIRE(restored.db().revision() == chain.db().revision());
            REQUIRE(restored.db().committed_revision() == chain.db().committed_revision());
            if (round == 59) { // the last round: both are damaged
                restored.db().undo_all();
                chain.db().undo_all();
                REQUIRE(restored.take_snapshot().difference(chain.take_snapshot()) == "");
            }
            restored.db().abandon();
        }
        fs::remove_all(state);
        fs::rename(folder / "away", state);
    }
    CHECK(blocks > 50);
}

TEST_CASE_METHOD(quietly_seeded,
                 "each call of the redo log fails and the next blocks are durable") {
    std::uint64_t failed = 0;
    for (std::uint64_t n = 0; n < 60; ++n) {
        INFO("call " << n);
        durable_chain chain(random.next(), 40, 9);
        chain.disk.part_of_a_failed_write = random.below(8192);
        chain.disk.failed_sync_works = random.chance(500);
        std::atomic<std::uint64_t> calls = 0;
        std::atomic<bool> has_failed = false;
        chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
            const bool may_fail = which != simulated_disk::call::read &&
                                  which != simulated_disk::call::remove; // not a failing call
            if (!may_fail || !is_redo(file) || calls++ != n) return;
            has_failed = true;
            if (n % 2 == 0) throw out_of_space_error("full, as asked for");
            throw io_error("broken, as asked for");
        };
        for (int step = 0; step < 20; ++step) {
            chain.apply();
            if (random.chance(600)) chain.wait_until_durable();
            if (random.chance(100)) chain.restored_after_a_loss(random);
        }
        chain.wait_until_durable();
        chain.restored_after_a_loss(random);
        chain.disk.before = nullptr;
        if (has_failed) {
            ++failed;
            CHECK(chain.db().checkpoints().redo->failed == 1);
        }
    }
    CHECK(failed > 30);
}

TEST_CASE_METHOD(quietly_seeded, "bits of the redo log flipped") {
    durable_chain chain(seed, 40);
    for (int step = 0; step < 40; ++step) {
        chain.apply();
        if (step % 3 == 0) chain.wait_until_durable();
    }
    chain.wait_until_durable();
    const fs::path folder = chain.state() / "checkpoint";
    const checkpoint::published published(chain.disk, folder);
    const auto files = checkpoint::redo_files(chain.disk, folder);
    REQUIRE(!files.empty());
    const fs::path log = checkpoint::redo_file(folder, files.back());
    simulated_disk undamaged(chain.disk);
    const auto whole = chain.restored_from(undamaged);
    REQUIRE(whole.opened.blocks > 1);
    std::uint64_t bytes = 0; // in use
    {
        auto file = chain.disk.open(log, disk::mode::read);
        std::vector<std::byte> content(file->bytes());
        REQUIRE(file->read(0, content) == content.size());
        const auto last = std::find_if(content.rbegin(), content.rend(),
                                       [](std::byte one) { return one != std::byte{0}; });
        bytes = static_cast<std::uint64_t>(content.rend() - last) -
                sizeof(checkpoint::redo_block::head); // the end mark
    }
    std::uint64_t earlier = 0;
    for (int i = 0; i < 120; ++i) {
        simulated_disk damaged(chain.disk);
        const std::uint64_t bit = random.next() % (bytes * 8);
        damaged.flip(log, bit);
        INFO("byte " << bit / 8);
        std::string told;
        checkpoint::check_blocks(damaged, folder, *published.newest(),
                                 [&](const std::string& what) { told += what; });
        CHECK_THAT(told, Contains(log.string()) && Contains("offset"));
        const auto found = chain.restored_from(damaged);
        REQUIRE(found.step);
        CHECK(found.opened.blocks < whole.opened.blocks);
        CHECK_THAT(found.opened.why, Contains(log.string()) && Contains("offset") &&
                                         Contains("are lost, though they had been synced"));
        if (found.opened.blocks > 0) ++earlier;
    }
    CHECK(earlier > 0);
    for (int i = 0; i < 20; ++i) { // later blocks repeat what the end mark says
        simulated_disk damaged(chain.disk);
        damaged.flip(log, bytes * 8 + random.below(8 * sizeof(checkpoint::redo_block::head)));
        simulated_disk more(damaged);
        CHECK(chain.restored_from(damaged).opened.blocks == whole.opened.blocks);
        more.flip(log, random.next() % (bytes / 2 * 8));
        CHECK_THAT(chain.restored_from(more).opened.why,
                   Contains("are lost, though they had been synced"));
    }
    for (int i = 0; i < 20; ++i) {
        simulated_disk broken(chain.disk); // an unreadable sector
        bool was_read = false;
        broken.before = [&](simulated_disk::call which, const fs::path& file) {
            if (which != simulated_disk::call::read || file != log || !random.chance(50)) return;
            was_read = true;
            throw io_error(log.string() + ": no such sector, as asked for");
        };
        const auto found = chain.restored_from(broken);
        REQUIRE(found.step);
        if (was_read) CHECK_THAT(found.opened.why, Contains("no such sector"));
    }
    for (int i = 0; i < 40; ++i) { // truncated: nothing tells that there was more
        simulated_disk cut(chain.disk);
        cut.open(log, disk::mode::write)->resize(random.next() % bytes);
        const auto found = chain.restored_from(cut);
        REQUIRE(found.step);
        CHECK(found.opened.blocks < whole.opened.blocks);
    }
}

TEST_CASE_METHOD(quietly_seeded,
                 "blocks follow the older checkpoint when the newest one is damaged") {
    durable_chain chain(seed, 60, 5);
    for (int step = 0; step < 60; ++step) {
        chain.apply();
        if (step % 10 == 9) chain.wait_until_durable();
    }
    chain.wait_until_durable();
    REQUIRE(chain.db().checkpoints().made > 1);
    for (const char* name : {"published.0", "published.1"}) {
        simulated_disk damaged(chain.disk);
        damaged.flip(chain.state() / "checkpoint" / name, 0);
        const auto found = chain.restored_from(damaged);
        REQUIRE(found.step);
        CHECK(*found.step >= chain.durable());
        CHECK_THAT(found.opened.why, Contains(name));
    }
}

TEST_CASE_METHOD(quietly_seeded,
                 "what was durable before a kill stays so until a checkpoint has it") {
    durable_chain chain(seed, 60);
    chain.apply(12);
    chain.wait_until_durable();
    chain.reopen();
    static std::atomic<bool> has_pages; // of the next, unpublished checkpoint
    has_pages = false;
    chain.disk.before = [](simulated_disk::call which, const fs::path& file) {
        if (which != simulated_disk::call::sync || is_redo(file)) return;
        if (has_pages) throw io_error("broken, as asked for");
        has_pages = file.filename() == "pages";
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // a new run begins meanwhile
    };
    for (int step = 0; step < 10; ++step) {
        chain.apply();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        chain.restored_after_a_loss(random);
    }
    chain.disk.before = nullptr;
}

TEST_CASE_METHOD(quietly_seeded,
                 "blocks are not durable while the checkpoint that they follow is set aside") {
    damaged_newest of(seed);
    durable_chain& chain = of.chain;
    bool is_set_aside = false;
    chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
        is_set_aside = is_set_aside || which == simulated_disk::call::rename;
        if (is_set_aside && which == simulated_disk::call::write && file.filename() == "pages")
            throw out_of_space_error("full, as asked for");
    };
    chain.apply(5);
    REQUIRE_THROWS_AS(chain.db().make_checkpoint(), out_of_space_error);
    chain.apply(5);
    CHECK_THROWS_AS(chain.db().wait_until_durable(), out_of_space_error);
    CHECK_FALSE(chain.db().checkpoints().redo->is_whole);
    chain.disk.before = nullptr;
    chain.apply(5);
    chain.wait_until_durable();
    chain.restored_after_a_loss(random);
    CHECK(chain.db().checkpoints().redo->is_whole);
}

TEST_CASE_METHOD(quietly_seeded,
                 "the older checkpoint keeps its blocks when the newest one was set aside") {
    damaged_newest of(seed);
    durable_chain& chain = of.chain;
    const std::uint64_t durable = chain.durable();
    chain.db().make_checkpoint();
    const checkpoint::published now = of.published();
    const checkpoint::redo_run newest = of.newest_run(now);
    REQUIRE(of.has_files_of(of.older_run(now)));
    std::atomic<int> writes = 0; // the first one fails, so a new run is requested
    chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
        if (which != simulated_disk::call::write) return;
        const bool is_of_pages = file.filename() == "pages";
        if (is_of_pages) // which begins meanwhile
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        if (is_of_pages || (is_redo(file) && writes++ == 0)) throw io_error("broken, as asked for");
    };
    while (!of.has_files_of(newest + 1)) {
        REQUIRE(chain.steps() < 400);
        chain.apply();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    chain.disk.before = nullptr;
    chain.disk.flip(now.newest_path(), 0);
    const auto found = chain.restored_from(chain.disk);
    REQUIRE(found.step);
    CHECK(*found.step >= durable);
}

TEST_CASE_METHOD(quietly_seeded, "blocks that ended with no change are closed as any others") {
    durable_chain chain(seed, 20);
    chain.apply(20);
    chain.close();
    chain.reopen();
    const revision_number closed_at = chain.db().revision();
    chain.db().start_session().push();
    chain.db().wait_until_durable();
    chain.db().undo();
    chain.close();
    simulated_disk as_it_is(chain.disk);
    const auto found = chain.restored_from(as_it_is);
    REQUIRE(found.step);
    CHECK(found.opened.blocks == 0);
    CHECK(found.opened.revision == closed_at);
    chain.reopen();
    chain.db().start_session().push();
    chain.db().wait_until_durable();
    CHECK(chain.db().checkpoints().redo->failed == 0);
}

TEST_CASE_METHOD(quietly_seeded,
                 "a block that was popped before the state was closed does not come back") {
    const bool has_run = GENERATE(true, false); // else a checkpoint is made at the end of the block
    durable_chain chain(seed, 20);
    chain.apply(20);
    chain.close();
    if (!has_run) { // by a process without a redo log
        open_options how = chain.options_on(chain.disk).how;
        how.durability = durability::checkpoint;
        world other(chain.state(), {.verify = false, .how = how});
        other.db().start_session().push();
        other.db().undo();
        other.db().make_checkpoint();
        other.db().close();
    }
    chain.reopen();
    const revision_number closed_at = chain.db().revision();
    chain.disk.before = [](simulated_disk::call which, const fs::path&) {
        if (which == simulated_disk::call::sync)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    chain.db().start_session().push();
    chain.db().undo();
    chain.close();
    chain.disk.before = nullptr;
    const auto found = chain.restored_from(chain.disk);
    REQUIRE(found.step);
    CHECK(found.opened.blocks == 0);
    CHECK(found.opened.revision == closed_at);
}

TEST_CASE_METHOD(
    quietly_seeded,
    "blocks are durable again soon after a checkpoint failed that they were to follow") {
    std::atomic<int> failing = 3;
    durable_chain chain(seed, 400); // checkpoints only when needed
    chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
        const bool is_publication = file.filename().string().starts_with("published.");
        if (which == simulated_disk::call::sync && is_publication && failing-- > 0)
            throw io_error("broken, as asked for");
    };
    const auto now = [&] { return *chain.db().checkpoints().redo; };
    std::uint64_t max_files = 0;
    while (!now().is_whole) {
        REQUIRE(chain.steps() < 400);
        chain.apply();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        max_files = std::max<std::uint64_t>(
            max_files, checkpoint::redo_files(chain.disk, chain.state() / "checkpoint").size());
    }
    CHECK(failing < 0);
    CHECK(max_files <= 2); // what is of no use does not pile up
    chain.apply();
    const std::uint64_t made = chain.db().checkpoints().made;
    chain.wait_until_durable();
    CHECK(chain.db().checkpoints().made == made);
    CHECK(now().durable >= chain.db().revision());
}

TEST_CASE_METHOD(quietly_seeded, "a state that was closed goes on with its redo log") {
    durable_chain chain(seed, 60);
    for (int round = 0; round < 6; ++round) {
        chain.apply(1 + random.below(6));
        chain.wait_until_durable();
        if (random.chance(500)) chain.close();
        chain.reopen();
        chain.restored_after_a_loss(random);
    }
}
