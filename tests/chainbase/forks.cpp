// A process with an open state forks: the child cannot affect the parent's state, and the parent
// continues undisturbed.

#include <chainbase/database.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/two_sides.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

static const pid_t first_process = getpid();

/// Called by the leak sanitizer at exit. Memory held by the parent's threads, such as checkpoint
/// buffers, is referenced only from their stacks, which a forked child lacks.
extern "C" int __lsan_is_turned_off() {
    return getpid() != first_process;
}

namespace {

/// How a child destroys the parent's objects.
enum class leaving { scope, exit };

open_options with_durability(durability what) {
    open_options how = what == durability::process ? quick_options() : with_checkpoints(3);
    how.durability = what;
    return how;
}

open_options to_read() {
    open_options how = quick_options(open_mode::read_only);
    how.wait_for_writer = std::chrono::minutes(5);
    return how;
}

/// An object destroyed at process exit, like a static variable.
template <typename T>
std::unique_ptr<T>& last_one() {
    static std::unique_ptr<T> one;
    return one;
}

template <typename T>
void leave(leaving how) {
    if (how == leaving::exit) std::exit(0);
    last_one<T>().reset();
}

/// Runs `work` in a forked child and fails if the child fails.
void in_fork(const std::function<void()>& work) {
    std::fflush(stdout); // an exiting child would write it again
    REQUIRE_FALSE(run_process(work).killed);
}

template <typename Call>
void expect_refused(const char* name, Call&& call) {
    std::string said;
    try {
        call();
    } catch (const usage_error& e) {
        said = e.what();
    }
    expect(said.find("opened by process " + std::to_string(getppid())) != std::string::npos &&
               said.find("open it again") != std::string::npos,
           std::string(name) + ": said \"" + said + "\"");
}

struct written {
    two_sides sides;
    std::optional<session> block;

    written(const fs::path& state, const open_options& how) : sides(state, how) {}
};

/// Every call that changes something, waits or takes turns.
void expect_all_refused(written& all) {
    database& db = all.sides.db;
    const item& first = db.get(id<item>(0));
    expect_refused("create", [&] { db.create<item>([](item& one) { one.key = 999; }); });
    expect_refused("modify", [&] { db.modify(first, [](item& one) { one.value = 9; }); });
    expect_refused("remove", [&] { db.remove(first); });
    expect_refused("clear", [&] { db.clear<item>(); });
    expect_refused("start_session", [&] { (void)db.start_session(); });
    expect_refused("push", [&] { all.block->push(); });
    expect_refused("session::squash", [&] { all.block->squash(); });
    expect_refused("session::undo", [&] { all.block->undo(); });
    expect_refused("undo", [&] { db.undo(); });
    expect_refused("squash", [&] { db.squash(); });
    expect_refused("undo_all", [&] { db.undo_all(); });
    expect_refused("commit", [&] { db.commit(1); });
    expect_refused("set_revision", [&] { db.set_revision(100); });
    expect_refused("compact", [&] { db.compact(); });
    expect_refused("add_type", [&] { db.add_type<ticket>("ticket"); });
    expect_refused("make_checkpoint", [&] { db.make_checkpoint(); });
    expect_refused("wait_until_durable", [&] { db.wait_until_durable(); });
    expect_refused("with_read_lock", [&] { db.with_read_lock([] {}); });
    expect_refused("with_write_lock", [&] { db.with_write_lock([] {}); });
    expect_refused("close", [&] { db.close(); });
}

} // namespace

TEST_CASE("a writer's fork changes nothing, and the writer goes on, closes and is whole") {
    const auto level = GENERATE(durability::process, durability::checkpoint, durability::commit);
    const auto how_it_ends = GENERATE(leaving::scope, leaving::exit);
    CAPTURE(static_cast<int>(level), static_cast<int>(how_it_ends));
    const scratch_folder folder;
    const fs::path state = folder / "state";
    random_source random(test_seed(6));
    std::unique_ptr<written>& parent = last_one<written>();
    parent = std::make_unique<written>(state, with_durability(level));
    database& db = parent->sides.db;
    const auto value = [](const database& of) { return of.get(id<item>(1)).value; };
    for (int n = 0; n < 5; ++n)
        parent->sides.apply_block(random);
    const revision_number before = db.revision();
    parent->block.emplace(db.start_session());
    db.modify(db.get(id<item>(1)), [](item& one) { one.value += 7; });
    const std::uint32_t changed = value(db);
    for (const bool asks : {true, false})
        in_fork([&] {
            if (asks) expect_all_refused(*parent);
            if (asks) db.abandon();
            leave<written>(how_it_ends);
        });
    CHECK(value(db) == changed);
    CHECK(lock_report::read(state).writer.is_alive);
    CHECK_THROWS_AS(database(state, quick_options()), locked_error);
    parent->block->push();
    parent->block.reset();
    CHECK(db.revision() == before + 1);
    if (level != durability::process) {
        db.make_checkpoint();
        db.wait_until_durable();
        CHECK(db.checkpoints().failed == 0);
    }
    db.modify(db.get(id<item>(1)), [](item& one) { one.value -= 7; });
    for (int n = 0; n < 5; ++n)
        parent->sides.apply_block(random);
    const auto height = parent->sides.height();
    REQUIRE(height);
    db.close();
    parent.reset();
    const two_sides again(state, with_durability(level));
    CHECK(again.db.opened().how == opening::way::attached);
    CHECK(again.height() == height);
}

TEST_CASE("a writer that forks within its turn keeps it") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    std::unique_ptr<two_sides>& parent = last_one<two_sides>();
    parent = std::make_unique<two_sides>(state);
    const auto how_it_ends = GENERATE(leaving::scope, leaving::exit);
    const auto is_inside = [&] {
        const lock_report::of_writer writer = lock_report::read(state).writer;
        return writer.is_alive && writer.what == lock_report::doing::inside &&
               writer.process == static_cast<std::uint32_t>(getpid());
    };
    const pid_t self = getpid();
    parent->db.with_write_lock([&] {
        std::fflush(stdout);
        if (fork() == 0) return; // leaves the turn and the enclosing scopes below
        int status = 0;
        wait(&status);
        CHECK(status == 0);
        CHECK(is_inside());
    });
    if (getpid() != self) {
        leave<two_sides>(how_it_ends);
        _exit(0);
    }
    CHECK(lock_report::read(state).writer.what == lock_report::doing::idle);
    parent.reset();
    CHECK(two_sides(state).db.opened().how == opening::way::attached);
}

TEST_CASE("a reader that forks keeps its turn, whatever the fork does") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    two_sides written(state);
    std::unique_ptr<two_sides>& seen = last_one<two_sides>();
    seen = std::make_unique<two_sides>(state, to_read());
    const auto how_it_ends = GENERATE(leaving::scope, leaving::exit);
    const auto is_reading = [&] {
        const lock_report now = lock_report::read(state);
        return now.readers.size() == 1 && now.readers[0].is_alive &&
               now.readers[0].what == lock_report::doing::inside &&
               now.readers[0].process == static_cast<std::uint32_t>(getpid());
    };
    const pid_t self = getpid();
    seen->db.with_read_lock([&] {
        REQUIRE(is_reading());
        in_fork([&] {
            expect_refused("with_read_lock", [&] { seen->db.with_read_lock([] {}); });
            leave<two_sides>(how_it_ends);
        });
        CHECK(is_reading());
        std::fflush(stdout);
        if (fork() == 0) return; // leaves its parent's turn
        int status = 0;
        wait(&status);
        CHECK(status == 0);
        CHECK(is_reading());
    });
    if (getpid() != self) {
        leave<two_sides>(how_it_ends);
        _exit(0);
    }
    CHECK(lock_report::read(state).readers[0].what == lock_report::doing::idle);
    random_source random(test_seed(7));
    written.apply_block(random);
    CHECK(seen->db.with_read_lock([&] { return seen->height(); }) == 1U);
    seen.reset();
    CHECK(lock_report::read(state).readers.empty());
}

TEST_CASE("a fork opens the state itself, beside the one that it has from its parent") {
    const scratch_folder folder;
    two_sides written(folder / "state");
    random_source random(test_seed(8));
    written.apply_block(random);
    const two_sides seen(folder / "state", to_read());
    CHECK(seen.db.with_read_lock([&] { return seen.height(); }) == 1U);
    in_fork([&] {
        const two_sides own(folder / "state", to_read());
        own.db.with_read_lock([&] {
            expect(own.height() == 1U, "another height");
            const auto readers = lock_report::read(folder / "state").readers;
            expect(std::ranges::any_of(readers,
                                       [](const lock_report::of_reader& one) {
                                           return one.what == lock_report::doing::inside &&
                                                  one.process ==
                                                      static_cast<std::uint32_t>(getpid()) &&
                                                  one.thread ==
                                                      static_cast<std::uint32_t>(gettid());
                                       }),
                   "its turn is another one's");
        });
        try {
            const two_sides second(folder / "state");
            throw mismatch("a second writer");
        } catch (const locked_error&) { // the parent is the writer
        }
    });
    written.apply_block(random);
    CHECK(written.height() == 2U);
}

TEST_CASE("a store by a fork ends the fork, and is not in the state") {
    const scratch_folder folder;
    two_sides written(folder / "state");
    auto& first = const_cast<item&>(written.db.get(id<item>(1)));
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL); // else the test framework's handler reports it
        *const_cast<volatile std::uint32_t*>(&first.value) = 12'345;
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
    CHECK(first.value == 0);
}

TEST_CASE("a writer that closed is no writer any more, although a fork of it lives") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    auto first = std::make_unique<two_sides>(state);
    auto seen = std::make_unique<two_sides>(state, to_read());
    CHECK(seen->db.with_read_lock([&] { return seen->height(); }) == 0U);
    const staying_process fork([](const std::function<void()>& done) { done(); });
    CHECK(lock_report::read(state).readers.size() == 1);
    seen.reset();
    CHECK(lock_report::read(state).readers.empty());
    first.reset();
    CHECK_FALSE(lock_report::read(state).writer.is_alive);
    CHECK(two_sides(state).db.opened().how == opening::way::attached);
}
