// A process reaches a system limit (setrlimit): an exception, never a signal; the state is that of
// the previous block and is usable once the limit is raised.

#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/seeded.hpp>
#include <unistd.h>

#include <csignal>
#include <new>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

void with_notes(const std::filesystem::path& state, const open_options& options,
                const std::function<void(database&)>& work) {
    database db(state, options);
    db.add_type<note>("note");
    work(db);
    db.close();
}

/// Changes notes in `state` under `limit`, then without it.
template <typename Limit>
std::string exhaust(const std::filesystem::path& state, std::uint64_t seed, Limit limit) {
    note_chain chain(seed);
    std::string said;
    with_notes(state, with_checkpoints(3), [&](database& db) {
        chain.apply_some(db, 20);
        {
            const auto held = limit();
            said = chain.apply_until_refused(db);
        }
        chain.require_same(db);
        {
            const auto held = limit();
            chain.apply_some(db, 30);
        }
        chain.require_same(db);
        expect(chain.apply_some(db, 60) == 0, "refused though there is room");
        chain.require_same(db);
    });
    with_notes(state, with_checkpoints(3), [&](database& db) { chain.require_same(db); });
    return said;
}

/// Opens the sample state under ever higher limits `limit`(n), each in its own process, until it
/// opens. Returns how often it was refused.
template <typename Limit>
std::size_t open_with_more_and_more(const std::filesystem::path& state, std::size_t most,
                                    const std::string& advice, Limit limit) {
    for (std::size_t n = 0; n < most; ++n) {
        const attempt one = attempt_in_child([&] {
            std::signal(SIGXFSZ, SIG_DFL);
            spdlog::set_level(spdlog::level::off); // each is thrown, too
            const auto held = limit(n);
            try {
                database db(state, with_checkpoints(3));
                db.add_type<note>("note");
                db.make_checkpoint();
                db.close();
            } catch (const std::bad_alloc&) {
                throw limit_error("no memory for the heap; " + advice);
            }
        });
        INFO(n << ": " << one.said);
        if (one.result == verdict::works) return n;
        CHECK(one.said.find(advice) != std::string::npos);
    }
    return most;
}

} // namespace

TEST_CASE_METHOD(seeded,
                 "files that may not be longer: refused before the kernel sends its signal") {
    const scratch_folder folder;
    CHECK_NOTHROW(run_process([&] {
        std::signal(SIGXFSZ, SIG_DFL); // which ends the process
        expect_names(
            exhaust(folder / "state", seed, [] { return lowered_limit(RLIMIT_FSIZE, 900'000); }),
            "ulimit -f");
    }));
}

TEST_CASE_METHOD(seeded,
                 "a heap that may not grow: blocks are refused whole, with checkpoints under way") {
    const scratch_folder folder;
    CHECK_NOTHROW(run_process([&] {
        exhaust(folder / "state", seed, [] {
            return lowered_limit(RLIMIT_DATA, memory_now("VmData") + (rlim_t{1} << 20));
        });
    }));
}

TEST_CASE_METHOD(
    seeded, "addresses that may not grow: blocks are refused whole, with checkpoints under way") {
    const scratch_folder folder;
    CHECK_NOTHROW(run_process([&] {
        exhaust(folder / "state", seed,
                [] { return lowered_limit(RLIMIT_AS, memory_now("VmSize") + (rlim_t{1} << 20)); });
    }));
}

TEST_CASE("opening with any number of files that may be open") {
    const scratch_folder folder;
    const std::filesystem::path state = folder / "state";
    with_notes(state, with_checkpoints(3), [](database& db) { write_note(db, "first", 1); });
    const std::size_t refused = open_with_more_and_more(
        state, 200, "ulimit -n", [](std::size_t n) { return lowered_limit(RLIMIT_NOFILE, 3 + n); });
    CHECK(refused > 20); // there are more windows than that
    CHECK(refused < 200);
    with_notes(state, with_checkpoints(3), [](database& db) {
        CHECK(db.find<note, by_title>(std::string_view("first")) != nullptr);
    });
}

TEST_CASE("opening with any number of addresses") {
    const scratch_folder folder;
    const std::filesystem::path state = folder / "state";
    with_notes(state, with_checkpoints(3), [](database& db) { write_note(db, "first", 1); });
    const open_options options = with_checkpoints(3);
    const std::size_t reserved = options.window_bytes * options.windows;
    const std::size_t refused = open_with_more_and_more(state, 200, "ulimit", [&](std::size_t n) {
        return lowered_limit(RLIMIT_AS,
                             memory_now("VmSize") + reserved - (rlim_t{4} << 20) + (n << 19));
    });
    CHECK(refused > 4);
    CHECK(refused < 200);
    with_notes(state, with_checkpoints(3), [](database& db) {
        CHECK(db.find<note, by_title>(std::string_view("first")) != nullptr);
    });
}

TEST_CASE("a new state has windows of which the process may have the addresses") {
    const scratch_folder folder;
    const std::filesystem::path state = folder / "state";
    open_options options;
    REQUIRE(options.window_bytes * options.windows > (std::size_t{2} << 40));
    CHECK_NOTHROW(run_process([&] {
        const lowered_limit limit(RLIMIT_AS, memory_now("VmSize") + (rlim_t{512} << 30));
        with_notes(state, options, [&](database& db) {
            write_note(db, "first", 1);
            with_notes(folder / "beside it", options, [](database&) {});
        });
    }));
    const auto made = detail::header_in(state / "segment");
    REQUIRE(made);
    CHECK(made->window_bytes == std::size_t{512} << 20);
    with_notes(state, options, [](database& db) {
        CHECK(db.find<note, by_title>(std::string_view("first")) != nullptr);
    });
}

TEST_CASE("opening and making with any length of files that is allowed") {
    for (const bool is_there : {true, false}) {
        const scratch_folder folder;
        const std::filesystem::path state = folder / "state";
        if (is_there)
            with_notes(state, with_checkpoints(3),
                       [](database& db) { write_note(db, "first", 1); });
        const std::size_t refused =
            open_with_more_and_more(state, 2000, "ulimit -f", [](std::size_t n) {
                return lowered_limit(RLIMIT_FSIZE, n * 4099);
            });
        CHECK(refused > 3);
        CHECK(refused < 2000);
        with_notes(state, with_checkpoints(3), [&](database& db) {
            CHECK((db.find<note, by_title>(std::string_view("first")) != nullptr) == is_there);
        });
    }
}
