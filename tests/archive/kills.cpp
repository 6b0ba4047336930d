// A process dies while objects move to the archive, while a large batch is ingested into RocksDB as
// sorted files, while a backup is made or restored. At any moment each object is in one place or in
// both, never in none; a partial result is not accepted; and repeating the work leads to the same
// end.

#include <archive/fault_steps.hpp>
#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>
#include <archive/rocksdb/store.hpp>
#include <pool_allocator/base/error.hpp>

#include <sys/stat.h>
#include <tests/archive/pair.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/mismatch.hpp>

#include <algorithm>
#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using archive::store_kind;

namespace fs = std::filesystem;

// --- objects on their way to the archive ---

namespace {

constexpr int few_notes = 40;
constexpr revision_number few_blocks = 60;

/// Whether another thread writes the rows.
bool behind = false;

/// The process under test. RocksDB keeps threads, which a fork loses, so only child processes open
/// it.
struct node {
    database state;
    std::unique_ptr<archive::store> rows;
    notes all;

    explicit node(const std::filesystem::path& folder)
        : state(folder, small_state()), rows(archive::open_store(folder / "archive")),
          all((state.add_type<note>("note"), state), *rows, "note") {}

    /// Block n: writes a note while any are left, retires one that is due, hands over. Afterwards
    /// every second block removes one, and the next one writes it again.
    void apply(revision_number number) {
        session block = state.start_session();
        if (behind)
            all.hand_over_behind(state.committed_revision(), 2);
        else
            all.hand_over(state.committed_revision(), 2);
        if (number <= few_notes) {
            write_note(number, number);
        } else if (number % 2 == 0) {
            all.remove(all.find<by_title>("alice", name_of(number - few_notes))->id());
        } else if (number > few_notes + 1) {
            write_note(number - few_notes - 1, number);
        }
        const auto due = static_cast<std::uint32_t>(number - 5);
        const note* const finished = number < 5 ? nullptr : state.find(id<note>(due));
        if (number % 3 != 0 && finished) all.retire(*finished);
        block.push();
        if (state.revision() > lag) state.commit(state.revision() - lag);
    }

    void run() {
        while (state.revision() < few_blocks)
            apply(state.revision() + 1);
    }

    /// Every existing note is found by every key, and nothing else.
    void check() const {
        std::size_t written = 0;
        for (revision_number n = 1; n <= few_notes; ++n)
            written += check_note(n, written_in(n)) ? 1 : 0;
        if (all.find(state.next_id<note>())) throw error("one too many");
        if (all.in_memory() + all.archived() != written) throw error("the counts do not add up");
    }

private:
    static std::string name_of(revision_number n) { return "note " + std::to_string(n); }

    void write_note(revision_number n, revision_number block) {
        write(state, "alice", name_of(n), block);
        state.modify(state.get<note, by_title>("alice", name_of(n)),
                     [](note& one) { one.weight += 1; });
    }

    /// The block that last wrote note n; 0: there is no such note.
    [[nodiscard]] revision_number written_in(revision_number n) const {
        const revision_number now = state.revision();
        const revision_number removed = few_notes + n;
        if (n % 2 != 0 || now < removed) return n <= now ? n : 0;
        return now > removed ? removed + 1 : 0;
    }

    [[nodiscard]] bool check_note(revision_number n, revision_number written) const {
        const auto by_name = all.find<by_title>("alice", name_of(n));
        if (!by_name && written == 0) return false;
        if (!by_name || written == 0 || !all.find(by_name->id()))
            throw error(name_of(n) + (by_name ? " is back" : " is lost"));
        if (by_name->get<&note::weight>() != written + 1) throw error("another content");
        return true;
    }
};

/// The digest after an undisturbed run.
std::string reference() {
    static const std::string digest = [] {
        const scratch_folder folder;
        REQUIRE(succeeds_in_child([&] {
            node one(folder / "state");
            one.run();
            one.check();
            write_all(folder / "digest", digest_of(one.all));
        }));
        return read_all(folder / "digest");
    }();
    REQUIRE(digest.size() == 64);
    return digest;
}

/// A second process finds everything, continues to the end, and reaches the same state.
void check_and_finish(const fs::path& state, const std::string& expected) {
    node one(state);
    one.check();
    one.run();
    one.check();
    expect(digest_of(one.all) == expected, "another digest");
    expect(one.all.archived() != 0, "nothing was archived");
}

/// Kills a node at its `first` and every `stride`-th later arrival at the point. If another thread
/// writes the rows, the number of arrivals depends on its speed.
std::uint64_t kills_at(const kill_point& at, std::uint64_t first, std::uint64_t stride) {
    behind = GENERATE(false, true);
    const std::string expected = reference();
    kill_trial trial;
    trial.in_children = true;
    trial.work = [](const fs::path& state, const killed_process& self) {
        node one(state);
        self.arm();
        one.run();
    };
    trial.check = [&](const fs::path& state, const progress&) {
        check_and_finish(state, expected);
    };
    return kill_at_each(at, trial, first, [=](std::uint64_t n) { return n + stride; });
}

kill_point at_step(archive::fault::step only) {
    return {archive::fault::hook, only};
}

} // namespace

TEST_CASE("killed before a batch is written") {
    CHECK(kills_at(at_step(archive::fault::step::before_write), 0, 4) > 1);
}
TEST_CASE("killed between the write and the removal") {
    CHECK(kills_at(at_step(archive::fault::step::after_write), 0, 4) > 1);
}
TEST_CASE("killed when an object left memory and its queue entry did not") {
    CHECK(kills_at(at_step(archive::fault::step::object_removed), 0, 4) > 1);
}
TEST_CASE("killed when an object and its queue entry left memory") {
    CHECK(kills_at(at_step(archive::fault::step::entry_removed), 1, 4) > 1);
}
TEST_CASE("killed when all of a batch left memory and the block is not complete") {
    CHECK(kills_at(at_step(archive::fault::step::finished), 2, 4) > 1);
}
TEST_CASE("killed at any log append") {
    CHECK(kills_at(fault::point::log_append, 3, 101) > 10);
}

TEST_CASE("killed while objects are handed over without a session") {
    kill_trial trial;
    trial.in_children = true;
    trial.work = [](const fs::path& state, const killed_process& self) {
        node one(state);
        write(one.state, "alice", "one", 1);
        write(one.state, "alice", "two", 2);
        one.all.retire(one.state.get<note>(id<note>(0)));
        one.all.retire(one.state.get<note>(id<note>(1)));
        self.arm();
        one.all.hand_over(one.state.committed_revision());
    };
    trial.check = [](const fs::path& state, const progress&) {
        node one(state);
        expect(one.all.find(id<note>(0)) && one.all.find(id<note>(1)), "lost");
        one.all.hand_over(one.state.committed_revision());
        expect(one.all.archived() == 2 && one.all.in_memory() == 0, "not archived");
        expect(one.all.find<by_title>("alice", "two")->id().value == 1, "lost");
    };
    for (const auto point :
         {archive::fault::step::object_removed, archive::fault::step::entry_removed})
        CHECK(kill_at(at_step(point), 0, trial));
}

TEST_CASE("killed at random times") {
    behind = GENERATE(false, true);
    using clock = std::chrono::steady_clock;
    const std::uint64_t seed = test_seed(4);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const auto begin = clock::now();
    REQUIRE(succeeds_in_child([] {
        const scratch_folder undisturbed;
        node(undisturbed / "state").run();
    }));
    const auto longest =
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin);
    const std::string expected = reference();
    for (int killed = 0; killed < 15;) {
        const scratch_folder folder;
        for (bool finished = false; !finished;) {
            const auto life = 1 + random.below(static_cast<std::uint32_t>(longest.count()));
            finished =
                !run_process([&] { node(folder / "state").run(); }, std::chrono::microseconds(life))
                     .killed;
            killed += finished ? 0 : 1;
        }
        CHECK(succeeds_in_child([&] { check_and_finish(folder / "state", expected); }));
    }
}

// --- a batch that goes in as sorted files: it is there whole or not at all ---

namespace {

using namespace chainbase::archive;

constexpr std::uint32_t small_batch = 10;
constexpr std::uint32_t large_batch = 300;

std::string record_text(std::uint32_t id) {
    return "row " + std::to_string(id);
}

/// Rows of two tables, so that a batch has both or neither.
void put_rows(store& to, std::uint32_t from, std::uint32_t count) {
    write_batch batch;
    for (std::uint32_t id = from; id < from + count; ++id) {
        const std::string record = record_text(id);
        const byte_buffer key = make_key(record);
        const secondary_key keys[] = {{0, key}};
        batch.put({id % 2}, id, as_bytes(record), keys);
    }
    to.write(batch);
}

std::unique_ptr<rocksdb_store> open(const fs::path& folder) {
    store_options options;
    options.ingest_rows = 100;
    auto made = std::make_unique<rocksdb_store>(folder, options);
    made->open_table("even", {"by_record"});
    made->open_table("odd", {"by_record"});
    return made;
}

/// Small, large, small: through the log, as sorted files, through the log again.
void write_batches(const fs::path& folder, const killed_process& self) {
    const auto s = open(folder);
    self.arm();
    put_rows(*s, 0, small_batch);
    put_rows(*s, small_batch, large_batch);
    put_rows(*s, small_batch + large_batch, small_batch);
    s->sync();
}

void check_rows(const store& in, std::uint32_t rows) {
    for (std::uint32_t id = 0; id < rows; ++id) {
        const auto row = in.find({id % 2}, id);
        expect(row && as_text(row->record()) == record_text(id), "a row is lost");
        const auto found = in.find({id % 2}, 0, make_key(record_text(id)));
        expect(found && found->id() == id, "a key is lost");
    }
    expect(in.count({0}) + in.count({1}) == rows, "the counts are wrong");
    expect(!in.find({rows % 2}, rows), "one too many");
}

/// Total size of the table files, which must be private whatever the umask.
std::uint64_t bytes_of_tables(const fs::path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder / "rocksdb")) {
        if (entry.path().extension() != ".sst") continue;
        struct stat found{};
        expect(::stat(entry.path().c_str(), &found) == 0, "a file went");
        expect((found.st_mode & 0777) == 0600, "a file is open to others");
        bytes += entry.file_size();
    }
    return bytes;
}

void check_and_go_on(const fs::path& folder) {
    const auto s = open(folder);
    expect(!fs::exists(folder / "ingest"), "unfinished files stayed");
    const auto rows = static_cast<std::uint32_t>(s->count({0}) + s->count({1}));
    expect(rows == small_batch || rows == small_batch + large_batch ||
               rows == 2 * small_batch + large_batch,
           "a batch is there in part");
    check_rows(*s, rows);
    put_rows(*s, 0, small_batch);
    put_rows(*s, small_batch, large_batch);
    s->flush();
    check_rows(*s, std::max(rows, small_batch + large_batch));
    expect(s->engine().file_bytes == bytes_of_tables(folder), "a file belongs to nothing");
}

} // namespace

TEST_CASE("a kill at any step of an ingest loses nothing and leaves nothing behind") {
    constexpr std::uint32_t before_the_last = small_batch + large_batch;
    const mode_t mask = ::umask(0);
    kill_trial trial;
    trial.in_children = true;
    trial.work = write_batches;
    trial.check = [](const fs::path& state, const progress&) {
        check_and_go_on(state);
        check_rows(*open(state), before_the_last);
    };
    // Two files begun and written, flushed, ingested.
    CHECK(kill_at_each(kill_point(archive::fault::ingest_hook), trial) == 6);
    ::umask(mask);

    // All was written and synced, then it died.
    const scratch_folder folder;
    CHECK(run_process([&] {
              write_batches(folder / "store", {[] {}, *shared_progress()});
              ::raise(SIGKILL);
          }).killed);
    CHECK(succeeds_in_child(
        [&] { check_rows(*open(folder / "store"), before_the_last + small_batch); }));
    CHECK(succeeds_in_child([&] { check_and_go_on(folder / "store"); }));
    CHECK(succeeds_in_child(
        [&] { check_rows(*open(folder / "store"), before_the_last + small_batch); }));
}

// --- a backup, and what is restored from it ---

namespace {

using archive::fault::backup_step;

constexpr revision_number half = 50;

/// An incomplete backup is refused by name.
void check_refused(const fs::path& unfinished, const fs::path& to) {
    if (!fs::exists(unfinished)) return;
    if (fs::exists(unfinished / "manifest")) return; // complete except for its name
    try {
        (void)archive::restore_backup(unfinished, to);
        FAIL("it was restored");
    } catch (const format_error& problem) {
        CHECK_THAT(problem.what(), Catch::Matchers::Contains(unfinished.string()));
    }
    CHECK_FALSE(fs::exists(to));
}

} // namespace

TEST_CASE("killed at every step of a backup, the same call makes it") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory);
    const scratch_folder folder;
    make_pair(folder / "state", kind, half);
    std::set<backup_step> seen;
    kill_trial trial; // kills the making of a backup
    trial.work = [&](const fs::path& to, const killed_process& self) {
        self.arm();
        (void)archive::back_up(folder / "state", to);
    };
    trial.check = [&](const fs::path& to, const progress& told) {
        const auto step = static_cast<backup_step>(told.step.load());
        const fs::path unfinished = to.string() + ".unfinished";
        CHECK(fs::exists(to) == (step == backup_step::in_place));
        check_refused(unfinished, folder / "none");
        const auto make = [&] { (void)archive::back_up(folder / "state", to); };
        if (!fs::exists(to)) REQUIRE(succeeds_in_child(make));
        CHECK_FALSE(fs::exists(unfinished));
        CHECK(archive::check_backup(to).revision == half);
        seen.insert(step);
    };
    kill_at_each(kill_point(archive::fault::backup_hook), trial);
    CHECK(seen.size() == (kind == store_kind::rocksdb ? 10 : 8));
    check_pair(folder / "state", half);
}

TEST_CASE("killed at every step of a restore, the same call makes it") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory);
    const scratch_folder folder;
    make_pair(folder / "state", kind, half);
    REQUIRE(
        succeeds_in_child([&] { (void)archive::back_up(folder / "state", folder / "backup"); }));
    std::set<backup_step> seen;
    int files = 0;
    kill_trial trial; // kills a restore
    trial.work = [&](const fs::path& to, const killed_process& self) {
        self.arm();
        (void)archive::restore_backup(folder / "backup", to);
    };
    trial.check = [&](const fs::path& to, const progress& told) {
        const auto step = static_cast<backup_step>(told.step.load());
        CHECK(fs::exists(to) == (step == backup_step::in_place));
        const auto restore = [&] { (void)archive::restore_backup(folder / "backup", to); };
        if (!fs::exists(to)) REQUIRE(succeeds_in_child(restore));
        CHECK_FALSE(fs::exists(to.string() + ".unfinished"));
        if (step != backup_step::file_copied || files++ % 4 == 0) check_pair(to, half);
        seen.insert(step);
    };
    kill_at_each(kill_point(archive::fault::backup_hook), trial);
    CHECK(seen.size() == 6);
}
