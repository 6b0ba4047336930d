// A follower sees each block once, and all of them, whatever happens to it and to the node.

#include <chainbase/feed/follower.hpp>
#include <chainbase/feed/writer.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/failure/chains_on_disk.hpp>
#include <tests/feed/told_objects.hpp>
#include <tests/snapshots/sample_chain.hpp>
#include <tests/support/block_walk.hpp>
#include <tests/support/simulated_disk.hpp>
#include <tests/support/world.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using feed::entry;
using feed::follower;
using feed::writer;
using feed::writer_options;
using taken = chainbase::snapshot;

namespace fs = std::filesystem;

namespace {

template <typename Done>
bool wait_until(Done&& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// A follower that keeps what it was told together with its position, as a database would.
class keeper {
public:
    explicit keeper(fs::path state, disk* on = nullptr, std::string name = "keeper")
        : state_(std::move(state)), name_(std::move(name)), on_(on) {
        start();
    }
    /// From a snapshot that shows `now`.
    void begin(const taken& at, records now) {
        from_->begin_at(at);
        all_ = told_objects(std::move(now), at.revision());
        at_ = from_->position();
    }
    void read() {
        for (entry one; from_->next(one);) {
            all_.take(one);
            at_ = from_->position();
        }
    }
    void keep() { from_->keep(); }
    /// As if it was killed: what it has is what it had.
    void start() {
        from_ = std::make_unique<follower>(state_, name_, on_);
        if (!from_->is_new()) from_->go_to(at_);
    }
    [[nodiscard]] const told_objects& all() const noexcept { return all_; }
    [[nodiscard]] feed::feed_position at() const noexcept { return at_; }
    [[nodiscard]] follower& from() noexcept { return *from_; }

private:
    fs::path state_;
    std::string name_;
    disk* on_;
    std::unique_ptr<follower> from_;
    told_objects all_;
    feed::feed_position at_ = 0;
};

walk_options plain_walk(std::uint32_t objects) {
    walk_options options;
    options.changes = {.objects = objects, .spread = 10};
    options.deep_every = UINT64_MAX;
    options.refusals_watched = 0;
    options.verify = false;
    return options;
}

/// A node that writes its feed, and one that follows.
class node {
public:
    explicit node(std::uint32_t objects, writer_options how = {})
        : options_(plain_walk(objects)), how_(how) {
        open();
    }
    void open() {
        world_.emplace(state(), options_);
        writer_.emplace(world_->db(), how_);
    }
    /// As a program does that tells no follower of it.
    void undo_unseen(std::size_t blocks) {
        world_.emplace(state(), options_);
        for (; blocks != 0; --blocks)
            world_->undo();
        close();
    }
    void kill() {
        writer_->abandon();
        writer_.reset();
        world_->db().abandon();
        world_.reset();
    }
    void close() {
        writer_.reset();
        world_->db().close();
        world_.reset();
    }
    void begin(random_source& random) {
        world_->fill(random);
        block(random);
    }
    void block(random_source& random) {
        apply_block(*world_, random, [] {});
    }
    /// Blocks that stay undoable.
    void push(random_source& random, int blocks) {
        for (; blocks != 0; --blocks) {
            world_->start();
            for (int changes = 0; changes < 5; ++changes)
                world_->change_unchecked(random);
            world_->push();
        }
    }
    [[nodiscard]] fs::path state() const { return folder_ / "state"; }
    [[nodiscard]] world& of() { return *world_; }
    [[nodiscard]] writer& feed() { return *writer_; }
    [[nodiscard]] records now() { return records_of(world_->db().memory()); }
    /// Reads until it has what there is.
    bool catches_up(keeper& one) {
        const records expected = now();
        return wait_until([&] {
            one.read();
            return one.all().objects() == expected &&
                   one.all().revision() == world_->db().revision();
        });
    }

private:
    scratch_folder folder_;
    walk_options options_;
    writer_options how_;
    std::optional<world> world_;
    std::optional<writer> writer_;
};

revision_number highest_revision(const std::vector<entry>& told) {
    return std::ranges::max(told, {}, &entry::revision).revision;
}

} // namespace

TEST_CASE("a follower sees all blocks, through kills of the node and of itself") {
    const std::uint64_t seed = test_seed(930);
    CAPTURE(seed);
    random_source random(seed);
    node n(20);
    keeper one(n.state());
    CHECK(one.from().is_new());
    n.begin(random);
    one.begin(taken(n.state().string()), n.now());
    std::uint64_t kills = 0;
    std::uint64_t begins = 0;
    for (std::uint64_t block = 0; block < test_operations(30'000) / 30; ++block) {
        n.block(random);
        if (n.of().depth() > 1 && random.chance(50)) { // into a block that was pushed
            if (random.chance(500)) {
                n.of().start();
                n.of().change_unchecked(random);
            }
            n.of().squash();
        }
        if (random.chance(200)) one.read();
        if (random.chance(100)) one.keep();
        if (random.chance(50)) one.start();
        if (random.chance(50)) {
            begins += n.feed().so_far().begins;
            random.chance(500) ? n.kill() : n.close();
            ++kills;
            if (random.chance(300)) one.read();
            n.open();
        }
    }
    REQUIRE(n.catches_up(one));
    CHECK(begins + n.feed().so_far().begins == 1);
    WARN(kills << " restarts, " << one.all().pops << " pops, " << one.all().told
               << " irreversible");
    CHECK(one.all().pops > 0);
}

TEST_CASE("a state that went back by more than two files of the feed is followed on") {
    const std::uint64_t seed = test_seed(931);
    CAPTURE(seed);
    random_source random(seed);
    node n(20, {.file_bytes = 4'000});
    const fs::path folder = feed::feed_folder(n.state());
    disk& on = disk::of_system();
    keeper one(n.state());
    n.begin(random);
    one.begin(taken(n.state().string()), n.now());
    n.push(random, 100);
    REQUIRE(n.catches_up(one));
    SECTION("its followers are at the end") { // and need none of the files
        one.keep();
        n.of().commit(n.of().depth());
        REQUIRE(wait_until([&] { return feed::entries_files(on, folder).size() < 3; }));
        n.push(random, 100);
        REQUIRE(n.catches_up(one));
        one.keep();
        std::this_thread::sleep_for(std::chrono::milliseconds(1'500)); // files are removed
        n.push(random, 1);
        REQUIRE(n.catches_up(one));
    }
    SECTION("one is behind, and nothing was irreversible") {}
    const std::size_t depth = n.of().depth();
    const std::size_t files = feed::entries_files(on, folder).size();
    CHECK(files > 10);
    n.close();
    n.undo_unseen(depth - 1);
    SECTION("restarted") {}
    SECTION("killed while the blocks are told to be undone") {
        n.open();
        n.kill();
    }
    n.open();
    n.push(random, 10);
    REQUIRE(n.catches_up(one));
    CHECK(n.feed().so_far().begins == 0);
    CHECK(one.all().pops == depth - 1);
}

TEST_CASE("a feed whose older files are damaged or gone begins anew when it is behind them") {
    const quiet_log no_messages;
    random_source random(test_seed(932));
    node n(20, {.file_bytes = 4'000});
    const fs::path folder = feed::feed_folder(n.state());
    keeper one(n.state());
    n.begin(random);
    one.begin(taken(n.state().string()), n.now());
    n.push(random, 100);
    REQUIRE(n.catches_up(one));
    const std::size_t depth = n.of().depth();
    n.close();
    n.undo_unseen(depth - 1);
    const auto files = feed::entries_files(disk::of_system(), folder);
    const fs::path broken = feed::entries_file(folder, files[files.size() / 2]);
    SECTION("damaged") {
        std::fstream file(broken, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(200).write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    }
    SECTION("shorter") {
        fs::resize_file(broken, fs::file_size(broken) - 1);
    }
    SECTION("gone") {
        for (std::size_t i = 0; i <= files.size() / 2; ++i)
            fs::remove(feed::entries_file(folder, files[i]));
    }
    n.open();
    n.push(random, 10);
    CHECK(n.feed().so_far().begins == 1);
    REQUIRE_THROWS_AS(n.catches_up(one), feed::too_far_behind_error);
    one.begin(taken(n.state().string()), n.now());
    n.push(random, 10);
    CHECK(n.catches_up(one));
}

TEST_CASE("who reads from a revision on is told what a cursor was told from there on") {
    const std::uint64_t seed = test_seed(935);
    CAPTURE(seed);
    random_source random(seed);
    node n(20);
    REQUIRE_THROWS_AS(feed::follower(n.state(), 1), usage_error);
    feed::follower one(n.state(), "one");
    n.begin(random);
    const taken begin(n.state().string());
    one.begin_at(begin);
    for (int block = 0; block < 300; ++block)
        n.block(random);
    n.close();
    std::vector<entry> told(1);
    while (one.next(told.back()))
        told.emplace_back();
    told.pop_back();
    REQUIRE(told.size() > 100);
    for (revision_number from = begin.revision() + 1; from < highest_revision(told) + 3;
         from += 7) {
        feed::follower other(n.state(), from);
        auto expected = std::ranges::find_if(told, [&](const entry& each) {
            return each.what != entry::kind::irreversible && each.revision >= from;
        });
        for (entry each; other.next(each); ++expected) {
            REQUIRE(expected != told.end());
            REQUIRE((each.what == expected->what && each.revision == expected->revision &&
                     each.serial == expected->serial && each.content == expected->content));
        }
        REQUIRE(expected == told.end());
        other.keep();
    }
    REQUIRE_THROWS_AS(feed::follower(n.state(), -1), feed::too_far_behind_error);
    REQUIRE_THROWS_AS(feed::follower(n.state() / "none", 1), error);

    const revision_number later = highest_revision(told) + 5; // not there yet
    feed::follower waiting(n.state(), later);
    n.open();
    for (int block = 0; block < 50; ++block)
        n.block(random);
    n.close();
    entry first;
    REQUIRE(waiting.next(first));
    CHECK(first.revision == later);
    for (const auto& file : fs::directory_iterator(n.state() / "feed"))
        if (file.path().filename().string().starts_with("entries")) fs::remove(file);
    REQUIRE_THROWS_AS(feed::follower(n.state(), later), usage_error);
}

TEST_CASE("a commit waits until its own block is told, and for no later one") {
    const quiet_log no_messages;
    const scratch_folder folder;
    simulated_disk on;
    std::atomic<bool> may_write = true;
    on.before = [&](simulated_disk::call which, const fs::path& file) {
        while (!may_write && which == simulated_disk::call::write &&
               file.filename().string().starts_with("entries"))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    database db(folder / "state");
    db.add_type<account>("account");
    follower one(folder / "state", "one", &on);
    writer told(db, {.on = &on});
    const auto block = [&](std::uint64_t number) {
        session now = db.start_session();
        db.create<account>([&](account& made) {
            made.name = std::string_view(std::to_string(number));
            made.number = number;
        });
        now.push();
    };
    block(1);
    REQUIRE(wait_until([&] { return told.so_far().blocks == 1; }));
    may_write = false;
    block(2);
    std::atomic<bool> is_asked = false;
    std::thread opens([&] { // at last also if nobody gets to asking for block 2
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!is_asked && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        may_write = true;
    });
    db.commit(1);
    CHECK_FALSE(may_write); // it did not wait for the disk
    is_asked = true;
    db.commit(2);
    CHECK(may_write);
    opens.join();
}

TEST_CASE("a follower begins anew where the feed does not go on") {
    const quiet_log no_messages;
    random_source random(test_seed(940));
    node n(20, {.most_bytes = 200'000, .file_bytes = 50'000});
    keeper one(n.state());
    n.begin(random);
    one.begin(taken(n.state().string()), n.now());
    one.keep();
    SECTION("it was behind by more than there is room for") {
        const fs::path oldest = feed::entries_file(feed::feed_folder(n.state()), 0);
        for (int block = 0; block < 2'000; ++block)
            n.block(random);
        REQUIRE(wait_until([&] { return !fs::exists(oldest); }));
        CHECK_THROWS_AS(one.read(), feed::too_far_behind_error);
    }
    SECTION("the state changed outside of sessions") {
        n.of().commit(n.of().depth());
        n.of().change_unchecked(random);
        n.of().start();
        n.of().push();
        REQUIRE(wait_until([&] {
            try {
                one.read();
                return false;
            } catch (const feed::too_far_behind_error&) {
                return true;
            }
        }));
    }
    n.block(random);
    one.begin(taken(n.state().string()), n.now());
    for (int block = 0; block < 20; ++block)
        n.block(random);
    CHECK(n.catches_up(one));
}

TEST_CASE("the last block is shown when the state is closed, however late it is on storage") {
    const scratch_folder folder;
    const std::string state = folder / "state";
    open_options how;
    how.durability = durability::commit;
    database db(state, how);
    db.add_type<account>("account");
    keeper one(state);
    for (std::uint64_t number = 1; number <= 20; ++number) {
        writer told(db);
        if (number == 1) one.begin(taken(state), {});
        session now = db.start_session();
        db.create<account>([&](account& made) {
            made.name = std::string_view(std::to_string(number));
            made.number = number;
        });
        now.push();
    } // each writer ends before the redo log is on storage
    one.read();
    CHECK(one.all().revision() == db.revision());
    db.close();
}

TEST_CASE("nothing is written while nobody follows") {
    random_source random(test_seed(950));
    node n(20);
    n.begin(random);
    for (int block = 0; block < 50; ++block)
        n.block(random);
    CHECK_FALSE(n.feed().so_far().is_followed);
    CHECK(n.feed().so_far().bytes == 0);
    keeper one(n.state());
    REQUIRE(wait_until([&] { return n.feed().so_far().is_followed; }));
    one.begin(taken(n.state().string()), n.now());
    n.block(random);
    CHECK(n.catches_up(one));
}

TEST_CASE("ten followers, each at its own place") {
    random_source random(test_seed(960));
    node n(20, {.file_bytes = 50'000});
    std::deque<keeper> all;
    for (int i = 0; i < 10; ++i)
        all.emplace_back(n.state(), nullptr, "follower-" + std::to_string(i));
    n.begin(random);
    for (keeper& one : all)
        one.begin(taken(n.state().string()), n.now());
    for (int block = 0; block < 300; ++block) {
        n.block(random);
        for (keeper& one : all)
            if (random.chance(50)) {
                one.read();
                one.keep();
            }
    }
    for (keeper& one : all)
        CHECK(n.catches_up(one));
}

TEST_CASE("a disk that fails: the node goes on, and followers are told") {
    const quiet_log no_messages;
    std::uint64_t lost = 0;
    for (std::uint64_t failing = 0; failing < 20; ++failing) {
        CAPTURE(failing);
        simulated_disk on;
        std::atomic<bool> may_fail = false;
        std::atomic<std::uint64_t> calls = 0;
        on.before = [&](simulated_disk::call which, const fs::path& file) {
            if (!may_fail || which == simulated_disk::call::read ||
                file.parent_path().filename() == "cursors")
                return;
            if (calls++ == failing) throw out_of_space_error("no room");
        };
        random_source random(test_seed(970) + failing);
        node n(10, {.file_bytes = 10'000, .on = &on});
        keeper one(n.state(), &on);
        n.begin(random);
        one.begin(taken(n.state().string()), n.now());
        may_fail = true;
        for (int block = 0; block < 60; ++block)
            n.block(random);
        REQUIRE(wait_until([&] { return n.feed().so_far().last_failure.empty(); }));
        bool is_whole = false;
        try {
            is_whole = n.catches_up(one);
        } catch (const feed::too_far_behind_error&) {
            ++lost;
            one.begin(taken(n.state().string()), n.now());
            n.block(random);
            is_whole = n.catches_up(one);
        }
        CHECK(is_whole);
    }
    WARN(lost << " of 20 began anew");
}

TEST_CASE("each flipped bit of the feed is told, with its place") {
    simulated_disk on;
    random_source random(test_seed(980));
    node n(3, {.on = &on});
    keeper one(n.state(), &on);
    n.begin(random);
    one.begin(taken(n.state().string()), n.now());
    const feed::feed_position begin = one.at();
    for (int block = 0; block < 3; ++block)
        n.block(random);
    REQUIRE(n.catches_up(one));
    const fs::path file = feed::entries_file(feed::feed_folder(n.state()), 0);
    const std::uint64_t bits = on.sizes().at(file) * 8;
    std::uint64_t told = 0;
    for (std::uint64_t bit = 0; bit < bits; bit += 1 + random.below(20)) {
        CAPTURE(bit);
        simulated_disk copy(on);
        copy.flip(file, bit);
        follower reader(n.state(), "keeper", &copy);
        try {
            reader.go_to(begin);
            std::uint64_t entries = 0;
            for (entry each; reader.next(each);)
                ++entries;
            CHECK(bit / 8 < begin);
            CHECK(entries >= 3);
        } catch (const error& problem) {
            CHECK_THAT(problem.what(), Contains("entries."));
            ++told;
        }
    }
    WARN(told << " told");
    CHECK(told > 100);
}

TEST_CASE("the files of another version are told as that") {
    constexpr std::uint64_t bit_of_format = 16 * 8 + 5;
    simulated_disk on;
    random_source random(test_seed(981));
    node n(3, {.on = &on});
    keeper one(n.state(), &on);
    n.begin(random);
    one.begin(taken(n.state().string()), n.now());
    const feed::feed_position begin = one.at();
    n.block(random);
    REQUIRE(n.catches_up(one));
    const fs::path folder = feed::feed_folder(n.state());
    for (const fs::path& file : {feed::entries_file(folder, 0), folder / "head"}) {
        CAPTURE(file);
        simulated_disk copy(on);
        copy.flip(file, bit_of_format);
        const auto read = [&] {
            follower reader(n.state(), "keeper", &copy);
            reader.go_to(begin);
            for (entry each; reader.next(each);) {
            }
        };
        CHECK_THROWS_AS(read(), format_error);
    }
}

TEST_CASE("after a loss of power the feed leads from what was seen to what there is") {
    const quiet_log no_messages;
    struct loss {
        std::unique_ptr<simulated_disk> disk;
        told_objects seen;
        feed::feed_position at;
    };
    std::vector<loss> losses;
    std::mutex mutex;
    bool is_over = false;
    told_objects seen;
    feed::feed_position at = 0;
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    random_source choice(seed + 1);
    const std::uint64_t steps = 60;
    auto chain = std::make_unique<durable_chain>(seed, steps, 7);
    const fs::path state = chain->state();
    {

        writer feed(chain->db(), {.file_bytes = 60'000, .on = &chain->disk});
        keeper one(state, &chain->disk);
        REQUIRE(wait_until([&] { return feed.so_far().is_followed; }));
        const revision_number filled = chain->db().revision();
        while (chain->db().revision() == filled)
            chain->apply();
        chain->wait_until_durable();
        one.begin(taken(state.string()), records_of(chain->db().memory()));
        seen = one.all();
        at = one.at();
        chain->disk.before = [&](simulated_disk::call which, const fs::path&) {
            if (which == simulated_disk::call::read) return;
            const std::lock_guard lock(mutex);
            if (is_over || !choice.chance(250)) return;
            losses.push_back({std::make_unique<simulated_disk>(chain->disk), seen, at});
        };
        while (chain->steps() + 4 < steps) {
            chain->apply(1 + random.below(3));
            if (random.chance(300)) chain->wait_until_durable();
            one.read();
            if (random.chance(300)) one.keep();
            const std::lock_guard lock(mutex);
            seen = one.all();
            at = one.at();
        }
        const std::lock_guard lock(mutex);
        is_over = true;
        feed.abandon();
    }
    const open_options how = chain->options_on(chain->disk).how;
    chain->db().abandon();
    std::uint64_t restored = 0;
    std::uint64_t pops = 0;
    for (loss& one : losses) {
        fs::remove_all(state);
        one.disk->lose_power(random);
        walk_options options{.verify = false, .how = how};
        options.how.checkpoint_disk = one.disk.get();
        world after(state, options);
        if (after.db().opened().how != opening::way::restored) continue;
        ++restored;
        writer feed(after.db(), {.file_bytes = 60'000, .on = one.disk.get()});
        after.start();
        after.push(); // what is durable is shown then, too
        after.db().wait_until_durable();
        follower reader(state, "keeper", one.disk.get());
        reader.go_to(one.at);
        const records expected = records_of(after.db().memory());
        const bool is_there = wait_until([&] {
            for (entry each; reader.next(each);)
                one.seen.take(each);
            return one.seen.objects() == expected && one.seen.revision() == after.db().revision();
        });
        REQUIRE(is_there);
        CHECK(feed.so_far().begins == 0);
        pops += one.seen.pops;
    }
    WARN(restored << " of " << losses.size() << " losses restored, " << pops << " pops");
    CHECK(restored > 20);
}
