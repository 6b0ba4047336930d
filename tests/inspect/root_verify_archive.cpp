// root --verify: objects in the archive count as those in memory.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/rooted_state.hpp>
#include <tests/support/archive_files.hpp>
#include <tests/support/random_source.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

enum class mood : std::uint8_t { calm, wild };

/// The catalogue calls an enum by its integer: its rows are of another layout than it tells.
struct graded {
    chainbase::id<graded> id;
    mood how = mood::wild;
    fixed_string<16> title;

    using keys = chainbase::keys<hashed_unique<by_title, &graded::title>>;
    using archived_by = archive::tags<by_title>;
};
BOOST_DESCRIBE_STRUCT(graded, (), (id, how, title))

} // namespace

TEST_CASE("root verify: archived objects count where they are") {
    for (const auto kind : {archive::store_kind::rocksdb, archive::store_kind::memory}) {
        INFO(archive::to_string(kind));
        const made_state state;
        build_notes(state.path(), kind);
        with_notes(state.path(), kind, [](database& db, notes& all) {
            archive::committed_state root(db, 0);
            root.add(all);
            root.catch_up();
            session block = db.start_session();
            all.remove(id<note>(1));
            write(db, "author", "another", 3);
            root.update(block.revision());
            block.push();
            db.commit(db.revision());
        });
        const json found = state.report("root", "--verify");
        INFO(found.dump(1));
        CHECK(found.at("objects") == 10);
        CHECK(found.at("verified").at("sound") == true);
        CHECK(found.at("verified").at("objects") == 10);
        CHECK(found.at("verified").at("archived_objects") == 3);
        state_root::tree_hash hash;
        with_notes(state.path(), kind, [&](database& db, notes&) {
            state_root::merkle_tree tree(db);
            session block = db.start_session();
            const sha256_digest key = hash.key("note", 2);
            tree.update({{key, {}, 2, tree.type_numbers().at("note"), true}}, nullptr);
            tree.note_revision();
            block.push();
            db.commit(db.revision());
        });
        const json fault =
            only(state.report("root", "--verify").at("verified"), "other_content", "note");
        CHECK(fault.at("id") == 2);
        CHECK(fault.at("archived") == true);
        CHECK(fault.at("row").at("title") == "title 2");
    }
}

TEST_CASE("root verify: archived rows that cannot be read are named in one line") {
    const made_state state;
    prepare(state.path());
    random_source random(7);
    constexpr std::uint32_t all_notes = 3'000;
    std::uint32_t in_memory = 0;
    std::uint32_t archived = 0;
    with_notes(state.path(), archive::store_kind::rocksdb, [&](database& db, notes& all) {
        archive::committed_state root(db, 0);
        root.add(all);
        session block = db.start_session();
        for (std::uint32_t i = 0; i < all_notes; ++i)
            write(db, "author", "title " + std::to_string(random.below(1u << 31)), i);
        for (std::uint32_t i = 0; i < all_notes; ++i)
            if (i % 5 != 0) all.retire(db.get(id<note>(i)));
        block.push();
        db.commit(db.revision());
        all.hand_over(db.committed_revision(), all_notes);
        for (std::uint32_t i = 0; i < all_notes; i += 3)
            all.remove(id<note>(i)); // of many a row stays in the archive
        root.catch_up();
        in_memory = static_cast<std::uint32_t>(db.count<note>());
        archived = static_cast<std::uint32_t>(root.tree().size()) - in_memory;
    });
    REQUIRE(archived > 1'000);
    const fs::path rows = largest_table_file(fs::path(state.path()) / "archive");
    flip_bit(rows, 8 * (fs::file_size(rows) / 2));
    const json found = state.report("root", "--verify").at("verified");
    CHECK(found.at("objects") == in_memory + archived);
    CHECK(found.at("archived_objects") == archived);
    const std::uint64_t faults = found.at("faults");
    CHECK(faults > 10);
    CHECK(faults < 1'000);
    CHECK(found.at("faults_by_kind").at("unreadable") == faults);
    const auto& named = found.at("named");
    for (const json& one : named) {
        CHECK(one.at("archived") == true);
        CHECK(one.at("id").get<std::uint32_t>() % 5 != 0); // those are in memory
        CHECK(one.at("id").get<std::uint32_t>() % 3 != 0); // those are no objects
    }
    const outcome text = state.run("root", "--verify --limit 3");
    CHECK(text.code == 4);
    const auto id = [&](std::size_t number) { return named.at(number).at("id").dump(); };
    CHECK_THAT(text.output,
               Contains("damaged   " + std::to_string(faults) + " unreadable\n\nnote " + id(0) +
                        ", " + id(1) + ", " + id(2) + ": ") &&
                   Contains("Corruption") && Contains(" (in the archive)\n"));
}

TEST_CASE("root verify: a state without its archive says which one is missing") {
    const made_state state;
    build_notes(state.path());
    with_notes(state.path(), archive::store_kind::rocksdb, [](database& db, notes& all) {
        archive::committed_state root(db, 0);
        root.add(all);
        root.catch_up();
    });
    fs::remove_all(fs::path(state.path()) / "archive");
    const outcome text = state.run("root", "--verify");
    CHECK(text.code == 1);
    CHECK_THAT(text.output, Contains("handed over 4 rows of note") &&
                                Contains("put the archive in place that belongs to this state") &&
                                !Contains("in memory only"));
}

TEST_CASE("root verify: archived objects with an enum count as those in memory") {
    const made_state state;
    {
        database db(state.path(), small_state());
        db.add_type<graded>("graded");
        const auto rows = archive::open_archive(db, fs::path(state.path()) / "archive",
                                                archive::store_kind::rocksdb);
        archive::lifecycle<graded> all(db, *rows, "graded");
        archive::committed_state root(db, 0);
        root.add(all);
        root.catch_up();
        session block = db.start_session();
        for (const char* title : {"one", "two"})
            db.create<graded>([&](graded& one) { one.title = std::string_view(title); });
        all.retire(db.get(id<graded>(0)));
        root.update(block.revision());
        block.push();
        db.commit(db.revision());
        session next = db.start_session();
        CHECK(all.hand_over(db.committed_revision()) == 1);
        root.update(next.revision());
        next.push();
        rows->flush();
    }
    const json found = state.report("root", "--verify").at("verified");
    INFO(found.dump(1));
    CHECK(found.at("archived_objects") == 1);
    CHECK(found.at("sound") == true);
}
