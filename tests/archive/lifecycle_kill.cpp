#include <archive/detail/fault_steps.hpp>

#include <catch2/catch.hpp>
#include <signal.h>
#include <tests/archive/in_child.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <set>
#include <string>

/// A process dies while objects are on their way to the archive. Whatever the moment, each object
/// is in one place or in both, never in none, and going on leads to the same state.
using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr int notes_written = 40;
constexpr int lag = 3;
constexpr revision_number last_block = 60;

/// Whether another thread writes the rows.
bool behind = false;

/// The process under test. RocksDB keeps threads, which a fork loses, so only children open it.
struct node {
    database state;
    std::unique_ptr<archive::store> rows;
    notes all;

    explicit node(const std::filesystem::path& folder)
        : state(folder, small_state()), rows(archive::open_store(folder / "archive")),
          all((state.add_type<note>("note"), state), *rows, "note") {}

    /// Block n: writes a note while there are some left, retires one that is due, hands over. When
    /// all are written, every second block removes one, and the next one writes it again.
    void apply(revision_number number) {
        session block = state.start_session();
        if (behind)
            all.hand_over_behind(state.committed_revision(), 2);
        else
            all.hand_over(state.committed_revision(), 2);
        if (number <= notes_written) {
            write_note(number, number);
        } else if (number % 2 == 0) {
            all.remove(all.find<by_title>("alice", name_of(number - notes_written))->id());
        } else if (number > notes_written + 1) {
            write_note(number - notes_written - 1, number);
        }
        const auto due = static_cast<std::uint32_t>(number - 5);
        const note* const finished = number < 5 ? nullptr : state.find(id<note>(due));
        if (number % 3 != 0 && finished) all.retire(*finished);
        block.push();
        if (state.revision() > lag) state.commit(state.revision() - lag);
    }

    void run() {
        while (state.revision() < last_block)
            apply(state.revision() + 1);
    }

    /// Every note that is written now is found by every way, and nothing else.
    void check() const {
        std::size_t written = 0;
        for (revision_number n = 1; n <= notes_written; ++n)
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

    /// The block that wrote note n as it is now; 0: it is not there.
    [[nodiscard]] revision_number written_in(revision_number n) const {
        const revision_number now = state.revision();
        const revision_number removed = notes_written + n;
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

/// What a run that nobody disturbs comes to.
std::string reference() {
    static const std::string digest = [] {
        const temporary_folder folder;
        REQUIRE(worked(in_child([&] {
            node one(folder / "state");
            one.run();
            one.check();
            write_file(folder / "digest", digest_of(one.all));
        })));
        return test::read_file(folder / "digest");
    }();
    REQUIRE(digest.size() == 64);
    return digest;
}

/// A second process finds everything, goes on to the end, and comes to the same state.
void check_and_finish(const std::filesystem::path& state) {
    const std::string expected = reference();
    CHECK(worked(in_child([&] {
        node one(state);
        one.check();
        one.run();
        one.check();
        if (digest_of(one.all) != expected) throw error("another digest");
        if (one.all.archived() == 0) throw error("nothing was archived");
    })));
}

int steps_left = 0;

template <auto Point>
void die_at(decltype(Point) reached) {
    if (reached == Point && steps_left-- == 0) ::kill(::getpid(), SIGKILL);
}

template <auto Point, typename Install>
int kills_at(Install install, int first, int stride) {
    behind = GENERATE(false, true);
    int kills = 0;
    for (int n = first;; n += stride) {
        const temporary_folder folder;
        const int status = in_child([&] {
            node one(folder / "state");
            steps_left = n;
            install(&die_at<Point>);
            one.run();
            install(nullptr);
        });
        if (!was_killed(status)) {
            CHECK(worked(status));
            return kills;
        }
        ++kills;
        check_and_finish(folder / "state");
    }
}

void install_store_hook(void (*hook)(archive::fault::step)) {
    archive::fault::hook = hook;
}
void install_engine_hook(void (*hook)(fault::point)) {
    fault::hook = hook;
}

} // namespace

// How many batches a run takes depends, where another thread writes them, on how fast it is.
TEST_CASE("killed before a batch is written") {
    CHECK(kills_at<archive::fault::step::before_write>(install_store_hook, 0, 4) > 1);
}
TEST_CASE("killed between the write and the removal") {
    CHECK(kills_at<archive::fault::step::after_write>(install_store_hook, 0, 4) > 1);
}
TEST_CASE("killed when an object left memory and its queue entry did not") {
    CHECK(kills_at<archive::fault::step::object_removed>(install_store_hook, 0, 4) > 1);
}
TEST_CASE("killed when an object and its queue entry left memory") {
    CHECK(kills_at<archive::fault::step::entry_removed>(install_store_hook, 1, 4) > 1);
}
TEST_CASE("killed when all of a batch left memory and the block is not complete") {
    CHECK(kills_at<archive::fault::step::finished>(install_store_hook, 2, 4) > 1);
}
TEST_CASE("killed at any log append") {
    CHECK(kills_at<fault::point::log_append>(install_engine_hook, 3, 101) > 10);
}

TEST_CASE("killed while objects are handed over without a session") {
    for (const auto point :
         {archive::fault::step::object_removed, archive::fault::step::entry_removed}) {
        const temporary_folder folder;
        const int status = in_child([&] {
            node one(folder / "state");
            write(one.state, "alice", "one", 1);
            write(one.state, "alice", "two", 2);
            one.all.retire(one.state.get<note>(id<note>(0)));
            one.all.retire(one.state.get<note>(id<note>(1)));
            steps_left = 0;
            archive::fault::hook = point == archive::fault::step::object_removed
                                       ? &die_at<archive::fault::step::object_removed>
                                       : &die_at<archive::fault::step::entry_removed>;
            one.all.hand_over(one.state.committed_revision());
        });
        CHECK(was_killed(status));
        CHECK(worked(in_child([&] {
            node one(folder / "state");
            if (!one.all.find(id<note>(0)) || !one.all.find(id<note>(1))) throw error("lost");
            one.all.hand_over(one.state.committed_revision());
            if (one.all.archived() != 2 || one.all.in_memory() != 0) throw error("not archived");
            if (one.all.find<by_title>("alice", "two")->id().value != 1) throw error("lost");
        })));
    }
}

TEST_CASE("killed at random times") {
    behind = GENERATE(false, true);
    using clock = std::chrono::steady_clock;
    const std::uint64_t seed = test_seed(4);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const auto begin = clock::now();
    REQUIRE(worked(in_child([] {
        const temporary_folder undisturbed;
        node(undisturbed / "state").run();
    })));
    const auto longest =
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin);
    for (int killed = 0; killed < 15;) {
        const temporary_folder folder;
        for (bool finished = false; !finished;) {
            const auto life = 1 + random.below(static_cast<std::uint32_t>(longest.count()));
            const int status =
                in_child([&] { node(folder / "state").run(); }, std::chrono::microseconds(life));
            finished = !was_killed(status);
            killed += finished ? 0 : 1;
        }
        check_and_finish(folder / "state");
    }
}
