// The content of the undo log: records, marks, samples of them, the guards of sessions.

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/log_sample.hpp>
#include <undo/logged_objects.hpp>
#include <undo/undo_log.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("an object counts as logged only when it was added in this epoch") {
    chainbase::logged_objects logged;
    std::vector<std::byte> memory(1 << 20);
    std::mt19937_64 random(3);
    std::set<std::pair<const void*, std::uint64_t>> added;
    std::uint64_t epoch = 1;
    for (int i = 0; i < 300'000; ++i) {
        if (random() % 1000 == 0) ++epoch;
        const void* object = &memory[random() % (memory.size() / 8) * 8];
        const bool claimed = logged.test_and_add(object, epoch);
        const bool was = !added.insert({object, epoch}).second;
        if (claimed) REQUIRE(was); // it may forget, it never invents
    }
}

TEST_CASE("a session that touches many objects again and again comes to cost no log") {
    chainbase::logged_objects logged;
    std::vector<std::byte> memory(std::size_t{100'000} * 8);
    std::size_t missed_last = 0;
    for (int round = 0; round < 6; ++round) {
        missed_last = 0;
        for (std::size_t i = 0; i < 100'000; ++i)
            missed_last += !logged.test_and_add(&memory[i * 8], 7);
    }
    CHECK(missed_last < 20'000);
    CHECK(logged.capacity() > chainbase::logged_objects::min_entries);
}

TEST_CASE("small sessions never add up to a larger cache") {
    chainbase::logged_objects logged;
    std::vector<std::byte> memory(1 << 20);
    std::mt19937_64 random(5);
    for (std::uint64_t epoch = 1; epoch <= 1000; ++epoch)
        for (int i = 0; i < 200; ++i) // a few of them displace one another
            (void)logged.test_and_add(&memory[random() % (memory.size() / 8) * 8], epoch);
    CHECK(logged.capacity() == chainbase::logged_objects::min_entries);
}

// Reading a log while its writer works: all of it, or a report that it cannot be read now.

namespace {

/// A label that was changed in three sessions, whose records fill more than two chunks.
struct long_log {
    long_log() : db(folder / "state", quick_options()) {
        db.add_type<label>("label");
        const label& one = db.create<label>([](label&) {});
        for (int i = 0; i < 3; ++i) {
            session block = db.start_session();
            for (int changes = 0; changes < 20; ++changes)
                db.modify(one, [&](label& l) {
                    l.text = std::string(60'000, static_cast<char>('a' + changes));
                });
            block.push();
        }
    }

    scratch_folder folder;
    database db;
};

open_options only_to_look() {
    open_options how;
    how.mode = open_mode::read_only;
    how.allow_unclean = true;
    return how;
}

void check_same(const log_sample& sample, database& db) {
    REQUIRE(sample.is_readable());
    const undo_log& log = *db.memory().log();
    CHECK(sample.revision() == db.revision());
    CHECK(sample.committed_revision() == db.committed_revision());
    CHECK(sample.sessions() == log.sessions());
    CHECK(sample.measure().values == log.bytes_in_use());
}

} // namespace

TEST_CASE("a sample of a log tells what the log does") {
    long_log s;
    REQUIRE(s.db.memory().log()->bytes_in_use() > 2 * undo_log::chunk_bytes);
    segment reader(s.folder / "state", only_to_look());
    check_same(log_sample(reader.log_file()), s.db);
    s.db.commit(s.db.revision() - 1);
    check_same(log_sample(reader.log_file()), s.db);
    s.db.commit(s.db.revision());
    check_same(log_sample(reader.log_file()), s.db);
}

TEST_CASE("a sample of a log that became shorter behind the mapping cannot be read") {
    long_log s;
    std::filesystem::copy(s.folder / "state", s.folder / "copy",
                          std::filesystem::copy_options::recursive);
    state_image(s.folder / "copy").restore(); // the state itself, for this test
    segment reader(s.folder / "copy", only_to_look());
    CHECK(log_sample(reader.log_file()).is_readable());
    std::filesystem::resize_file(s.folder / "copy/segment/undo_log",
                                 window_header::page_bytes + undo_log::chunk_bytes);
    CHECK_FALSE(log_sample(reader.log_file()).is_readable());
}

// A guard acts on the session that it started, and only between operations.

TEST_CASE("a guard whose session was undone leaves the next one of its revision alone") {
    one_type<item> s;
    {
        auto gone = s.db.start_session();
        s.db.undo();
        auto next = s.db.start_session();
        REQUIRE(gone.revision() == next.revision());
        s.add(1);
        next.push();
    }
    CHECK(s.db.revision() == 1);
    CHECK(s.at(1) != nullptr);
}

TEST_CASE("a guard does not push, squash or undo another session of its revision") {
    one_type<item> s;
    auto gone = s.db.start_session();
    auto moved = s.db.start_session();
    auto also = s.db.start_session();
    s.db.undo_all();
    std::optional<session> next = s.db.start_session();
    s.add(1);
    gone.push();
    CHECK_THROWS_AS(s.db.commit(1), usage_error); // still open
    std::optional<session> above = s.db.start_session();
    s.add(2);
    moved.squash();
    CHECK(s.db.revision() == 2);
    std::optional<session> top = s.db.start_session();
    also.undo();
    CHECK(s.db.revision() == 3);
    next.reset(); // takes those above with it
    CHECK(s.db.revision() == 0);
    above.reset();
    top.reset();
    CHECK(s.count() == 0);
}

TEST_CASE("a guard whose session was squashed or committed has nothing to do") {
    one_type<item> s;
    {
        auto squashed = s.db.start_session();
        s.add(1);
        s.db.squash();
        auto block = s.db.start_session();
        s.add(2);
        block.push();
        squashed.undo();
        block.undo(); // pushed: the guard holds nothing any more
    }
    CHECK(s.count() == 2);
    CHECK(s.db.revision() == 1);
}

TEST_CASE("within a modifier a guard refuses, and nothing is harmed") {
    one_type<item> s;
    const item& a = s.add(1);
    const snapshot before = s.now();
    auto outer = s.db.start_session();
    s.set_key(a, 2);
    std::optional<session> inner = s.db.start_session();
    s.set_key(a, 3);
    const auto refused = [&](auto&& call) {
        CHECK_THROWS_AS(s.db.modify(a,
                                    [&](item& target) {
                                        target.key = 9;
                                        call();
                                    }),
                        usage_error);
        CHECK(a.key == 3);
        CHECK(inner->active());
        CHECK(s.db.revision() == 2);
    };
    refused([&] { inner->undo(); });
    refused([&] { inner->squash(); });
    refused([&] { inner->push(); });
    refused([&] { *inner = std::move(outer); });
    CHECK(outer.active());
    s.db.modify(a, [&](item& target) {
        target.key = 4;
        inner.reset(); // the session stays
    });
    CHECK(a.key == 4);
    CHECK(s.db.revision() == 2);
    outer.undo();
    CHECK(s.db.revision() == 0);
    CHECK(s.now() == before);
}

TEST_CASE("within a modifier the revision cannot be set") {
    one_type<item> s;
    const item& a = s.add(1);
    CHECK_THROWS_AS(s.db.modify(a, [&](item&) { s.db.set_revision(7); }), usage_error);
    CHECK(s.db.revision() == 0);
}
