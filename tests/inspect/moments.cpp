// Changes between two steps of a read or a change, where no program can be stopped.
#include <archive/record/described_record.hpp>
#include <chainbase/database.hpp>
#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/offline/bulk_load/segment_replacement.hpp>
#include <chainbase/offline/log_contents.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/snapshot/read_pool.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/maintenance/warm.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state/log_image.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using inspect::resident_file;
using inspect::row_query;
using inspect::row_source;
using inspect::type_records;

namespace fs = std::filesystem;

namespace {

/// A block of new accounts.
void add_block(database& db, std::uint32_t count) {
    auto block = db.start_session();
    for (; count > 0; --count)
        db.create<account>([](account& one) {
            one.name = std::string_view(std::to_string(one.id.value));
            one.number = one.id.value;
            one.group = one.number % 5;
        });
    block.push();
}

void add_accounts(database& db, std::uint32_t count) {
    add_block(db, count);
    db.commit(db.revision());
}

/// A state of accounts in a folder of its own, opened.
struct open_state {
    explicit open_state(std::uint32_t accounts, const open_options& how = quick_options())
        : db(state, how) {
        db.add_type<account>("account");
        add_accounts(db, accounts);
    }
    void spend(std::uint32_t number) {
        db.modify(db.get(id<account>(number)), [](account& one) { ++one.visits; });
    }

    scratch_folder folder;
    fs::path state = folder / "state";
    database db;
};

constexpr std::uint64_t page = 4096;

} // namespace

TEST_CASE_METHOD(seeded,
                 "rows: where a slice ended may go away or move, and the rest is visited once") {
    for (const bool is_reverse : {false, true}) {
        random_source random(seed);
        open_state made(700);
        row_source from(made.state);
        std::vector<std::uint32_t> expected;
        for (const account& one : made.db.view<account, by_group>())
            expected.push_back(one.id.value);
        if (is_reverse) std::ranges::reverse(expected);
        std::vector<std::uint32_t> seen;
        const auto cursor = row_query{"account", "by_group", {}, {}, {}, is_reverse}.cursor(from);
        for (bool more = true; more;) {
            from.take_turn([&] {
                const rows::type_rows of = from.of("account");
                std::uint32_t left = 1 + random.below(20);
                more = cursor->advance(of, [&](slot_number slot) {
                    seen.push_back(of.slots().id(slot));
                    return --left != 0;
                });
            });
            if (!more) break;
            made.db.with_write_lock([&] {
                const account& last = made.db.get(id<account>(seen.back()));
                if (random.chance(500))
                    made.db.remove(last);
                else // to where it was before
                    made.db.modify(last, [&](account& one) { one.group = is_reverse ? 9 : 0; });
            });
        }
        REQUIRE(seen == expected);
    }
}

namespace {

std::uint64_t accounts_in(row_source& from) {
    std::uint64_t count = 0;
    from.take_turn([&] { count = from.of("account").slots().live(); });
    return count;
}

} // namespace

TEST_CASE("rows: beside a writer all are of one block, until that is undone") {
    open_state made(300);
    row_source from(made.state);
    CHECK(accounts_in(from) == 300);
    const std::uint64_t changes = from.changes();
    add_block(made.db, 100);
    CHECK(accounts_in(from) == 300);
    CHECK(from.changes() == changes);
    CHECK(from.current_revision() == made.db.revision() - 1);

    row_source later(made.state);
    CHECK(accounts_in(later) == 400);
    add_block(made.db, 20'000);
    row_source newest(made.state);
    int calls = 0;
    std::uint64_t live = 0;
    newest.take_turn([&] {
        if (++calls == 1) made.db.undo();
        const rows::type_rows of = newest.of("account");
        live = 0;
        for (std::uint32_t id = 0; id < of.slots().next_id(); ++id)
            live += of.slots().slot_of(id) != 0 ? 1 : 0;
    });
    CHECK(calls == 2);
    CHECK(live == 400);
    const std::uint64_t before = later.changes();
    made.db.undo();
    CHECK(accounts_in(later) == 300);
    CHECK(later.changes() != before);
    CHECK(accounts_in(from) == 300); // its own block is there still
}

TEST_CASE("rows: a closed state is opened and closed by a writer while it is read") {
    open_state made(300);
    made.db.close();
    row_source from(made.state);
    CHECK(accounts_in(from) == 300);
    {
        database db(made.state, quick_options());
        db.add_type<account>("account");
        CHECK(accounts_in(from) == 300);
        add_accounts(db, 5);
        CHECK(accounts_in(from) == 300); // as of the block that was there
        CHECK(row_source(made.state).current_revision() == db.revision());
    }
    CHECK(accounts_in(from) >= 300);
    CHECK(from.changes() % 2 == 0);
}

TEST_CASE("rows: a writer that changes objects outside of sessions all the time is read in turns") {
    open_state made(300);
    std::atomic<bool> is_over{false};
    std::thread writer([&] {
        for (std::uint32_t i = 0; !is_over; ++i)
            made.db.with_write_lock([&] { made.spend(i % 300); });
    });
    row_source from(made.state);
    for (int turn = 0; turn < 20; ++turn)
        CHECK(accounts_in(from) == 300);
    is_over = true;
    writer.join();
}

TEST_CASE("digest: what changes between two turns is noticed, also at an unchanged revision") {
    open_state made(1000);
    const auto revision = made.db.revision();
    row_source from(made.state);
    inspect::unchanging_state still(from);
    type_records records(still, "account", nullptr, type_records::places::both);
    CHECK_FALSE(records.read(0, 500).empty());
    made.db.with_write_lock([&] { made.spend(1); }); // after it was read
    CHECK(made.db.revision() == revision);
    CHECK_THROWS_AS(records.read(500, 1000), inspect::state_changed);
    inspect::unchanging_state later(from);
    const auto torn = [&] {
        made.spend(0); // takes no turn
        throw damaged_error("torn");
    };
    CHECK_THROWS_AS(later.take_turn(torn), inspect::state_changed);
    CHECK_THROWS_AS(
        inspect::unchanging_state(from).take_turn([] { throw damaged_error("damaged"); }),
        damaged_error);
}

TEST_CASE("a state that was opened while its segment was made anew stays as it is") {
    const bool changes = GENERATE(true, false);
    open_state made(300, with_checkpoints());
    made.db.close();
    bulk_load::segment_replacement replacement(made.state);
    CHECK_THROWS_AS(bulk_load::segment_replacement(made.state), locked_error); // one at a time
    {
        bulk_load::new_state anew(replacement.folder(), replacement.limits());
        anew.close(1);
    }
    CHECK(fs::exists(replacement.folder() / "segment"));
    {
        database db(made.state, with_checkpoints());
        db.add_type<account>("account");
        if (changes) {
            add_accounts(db, 1);
            db.close();
        } else {
            CHECK_THROWS_AS(replacement.replace(), locked_error);
            db.abandon();
        }
    }
    CHECK_THROWS_AS(replacement.replace(), locked_error);
    database db(made.state, with_checkpoints());
    db.add_type<account>("account");
    CHECK(db.count<account>() == (changes ? 301 : 300));
}

TEST_CASE("a read pool takes a new snapshot once the segment is another one") {
    open_state made(300, with_checkpoints());
    made.db.close();
    read_pool pool(made.state.string(),
                   [](chainbase::snapshot& one) {
                       if (one.has_type("account")) one.add_type<account>("account");
                   },
                   {.most_age = std::chrono::milliseconds(0)});
    const auto first = pool.current();
    CHECK(first->count<account>() == 300);
    CHECK(pool.current() == first);
    {
        bulk_load::segment_replacement replacement(made.state);
        bulk_load::new_state anew(replacement.folder(), replacement.limits());
        anew.close(1);
        replacement.replace();
    }
    CHECK_FALSE(pool.current()->has_type("account"));
    CHECK(first->count<account>() == 300);
}

TEST_CASE("undo: of a log that is too long for one look the newest sessions are given") {
    open_state made(1);
    for (int blocks = 0; blocks < 40; ++blocks)
        add_block(made.db, 200);
    made.db.close();
    const fs::path folder = made.state / "segment";
    const auto header = detail::header_in(folder).value();
    using inspect::log_image;
    log_image image(folder, header, false);
    REQUIRE(image.copy(log_image::clock::time_point::max()));
    CHECK(image.is_complete());
    const log_contents all(image.file(), header.window_bytes);
    REQUIRE(all.sessions().size() == 40);

    log_image again(folder, header, false);
    REQUIRE(again.copy(log_image::clock::time_point::min()));
    CHECK_FALSE(again.is_complete());
    REQUIRE(again.has_sessions());
    CHECK(again.copied().sessions == 40);
    const log_contents some(again.file(), header.window_bytes);
    REQUIRE(some.sessions().size() > 1);
    REQUIRE(some.sessions().size() < 40);
    for (std::size_t i = 0; i < some.sessions().size(); ++i) {
        const logged_session& one = some.sessions().rbegin()[i];
        const logged_session& same = all.sessions().rbegin()[i];
        CHECK(one.revision == same.revision);
        CHECK(one.part.bytes == same.part.bytes);
        CHECK(one.part.records == same.part.records);
    }
}

TEST_CASE("a resident file: what is data, what is in memory, and holes that stay") {
    constexpr std::uint64_t pages = 600; // the hole begins within a slice
    const scratch_folder scratch;
    const fs::path file = scratch / "holes";
    const std::string data(pages * page, 'x');
    std::ofstream(file, std::ios::binary) << data;
    fs::resize_file(file, 2 * pages * page);
    std::ofstream(file, std::ios::binary | std::ios::app) << data;
    const auto held = [&] {
        struct stat found{};
        REQUIRE(::stat(file.c_str(), &found) == 0);
        return found.st_blocks;
    };
    const auto before = held();
    resident_file found(file);
    CHECK(found.bytes() == 3 * pages * page);
    const auto parts = found.data();
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].begin == 0);
    CHECK(parts[1].begin == 2 * pages * page);
    for (const auto& part : parts) {
        CHECK(part.bytes == pages * page);
        found.fetch(part);
        CHECK(found.cached(part).resident == part.bytes);
    }
    CHECK(found.cached({page / 2, page}).resident == page);
    CHECK(held() == before);
}

TEST_CASE("a resident file: one that is cut meanwhile, that is empty, that is gone") {
    const scratch_folder scratch;
    const fs::path file = scratch / "file";
    std::ofstream(file, std::ios::binary) << std::string(100 * page, 'x');
    resident_file found(file);
    fs::resize_file(file, 10 * page);
    found.fetch({0, 100 * page});
    CHECK(found.cached().resident == 10 * page);
    CHECK(found.data().back().bytes <= 100 * page);
    CHECK(resident_file(file, 3 * page + 1).cached().resident == 3 * page + 1);
    fs::resize_file(file, 0);
    CHECK(found.data().empty());
    CHECK(found.cached().resident == 0);
    const resident_file empty(file);
    CHECK(empty.bytes() == 0);
    CHECK(empty.data().empty());
    CHECK(empty.cached().resident == 0);
    CHECK_THROWS_AS(resident_file(scratch / "none"), io_error);
}

TEST_CASE("a temporary folder is not made where there is no room") {
    using inspect::temporary_folder;
    CHECK_THROWS_AS(temporary_folder::place_for(std::uint64_t{1} << 62), out_of_space_error);
    CHECK_NOTHROW(temporary_folder::place_for(1));
}

TEST_CASE("digest: records from the catalogue are those of the types") {
    const archive::described_record known(schema_of<account>("account"));
    CHECK(known.layout() == archive::record_layout<account>());
    CHECK(known.fingerprint() == archive::record_fingerprint<account>);
    CHECK(known.undescribed().empty());
    CHECK(archive::described_record(schema_of<note>("note")).fingerprint() ==
          archive::record_fingerprint<note>);
}
