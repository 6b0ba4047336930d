// The contract of every store, one property per case; runs over all kinds.
#include <archive/memory_store.hpp>
#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>

#include <tests/archive/stores.hpp>

#include <atomic>
#include <thread>

#include "support.hpp"

using namespace archive_test;
using chainbase::test::any_store;
using chainbase::test::engine;

namespace {

secondary_key by(std::uint32_t index, const byte_buffer& key) {
    return {index, key};
}

void put(store& to, table_id table, std::uint32_t id, std::string_view record,
         std::vector<secondary_key> keys = {}) {
    write_batch batch;
    batch.put(table, id, as_bytes(record), keys);
    to.write(batch);
}

std::string text_of(const std::optional<pinned_row>& row) {
    return row ? std::string(as_text(row->record())) : "(none)";
}

const byte_buffer alice = make_key("alice", "first");
const byte_buffer bob = make_key("bob", "first");

template <typename Case>
void over(engine which, Case run) {
    DYNAMIC_SECTION(static_cast<int>(which)) {
        scratch_folder folder;
        any_store opened(which, folder / "store");
        run(*opened, opened->open_table("posts", {"by_permlink", "by_time"}));
    }
}

/// Runs a case over the engines that store rows.
template <typename Case>
void over_keeping_stores(Case run) {
    for (const engine which : {engine::rocksdb, engine::memory, engine::heap})
        over(which, run);
}

/// Runs a case over the engines that can be read without a lock beside their writer.
template <typename Case>
void over_stores_without_locks(Case run) {
    for (const engine which : {engine::rocksdb, engine::heap})
        over(which, run);
}

} // namespace

TEST_CASE("a row is found by its id and by each of its keys, and nothing else is") {
    over_keeping_stores([](store& s, table_id posts) {
        const byte_buffer time = make_key(17u);
        put(s, posts, 5, "five", {by(0, alice), by(1, time)});
        CHECK(text_of(s.find(posts, 5)) == "five");
        CHECK(text_of(s.find(posts, 0, alice)) == "five");
        CHECK(s.find(posts, 1, time)->id() == 5);
        CHECK_FALSE(s.find(posts, 4));
        CHECK_FALSE(s.find(posts, 0, bob));
        CHECK_FALSE(s.find(posts, 1, alice));
        CHECK_FALSE(s.find(posts, 0, bytes_view(alice).first(3)));
        CHECK(s.contains(posts, 5));
        CHECK_FALSE(s.contains(posts, 6));
        CHECK(s.count(posts) == 1);
    });
}

TEST_CASE("an empty record and an empty key are a row and a key") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 0, "", {by(0, {})});
        REQUIRE(s.find(posts, 0));
        CHECK(s.find(posts, 0)->record().empty());
        CHECK(s.find(posts, 0, bytes_view())->id() == 0);
    });
}

TEST_CASE("the same row written twice is there once") {
    over_keeping_stores([](store& s, table_id posts) {
        write_batch batch;
        batch.put(posts, 1, as_bytes("one"), std::vector{by(0, alice)});
        batch.put(posts, 1, as_bytes("one"), std::vector{by(0, alice)});
        s.write(batch);
        s.write(batch);
        CHECK(s.count(posts) == 1);
        CHECK(s.stats().rows_put == 1);
        CHECK(s.stats().rows_unchanged == 1);
    });
}

TEST_CASE("a row that is replaced is no longer found by the keys it had") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, "old", {by(0, alice)});
        put(s, posts, 1, "new", {by(0, bob)});
        CHECK(text_of(s.find(posts, 0, bob)) == "new");
        CHECK_FALSE(s.find(posts, 0, alice));
        CHECK(s.count(posts) == 1);
        put(s, posts, 2, "two", {by(0, alice)}); // the key is unused again
        CHECK(s.find(posts, 0, alice)->id() == 2);
    });
}

TEST_CASE("a key leads to all rows that have it, the newest that counts first") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 2, "two", {by(0, alice)});
        CHECK(text_of(s.find(posts, 0, alice)) == "two"); // and cached, where a store does that
        put(s, posts, 5, "five", {by(0, alice)});
        CHECK(text_of(s.find(posts, 0, alice)) == "five");
        put(s, posts, 3, "three", {by(0, alice)});
        const auto newest_but = [&](std::uint32_t other) {
            return text_of(s.find(posts, 0, alice, [=](std::uint32_t row) { return row < other; }));
        };
        CHECK(text_of(s.find(posts, 0, alice)) == "five");
        CHECK(newest_but(5) == "three");
        CHECK(newest_but(3) == "two");
        CHECK_FALSE(s.find(posts, 0, alice, [](std::uint32_t) { return false; }));
        std::vector<std::uint32_t> led_to;
        for (auto at = s.keys(posts, 0); at.valid(); at.next())
            led_to.push_back(at.id());
        CHECK(led_to == std::vector<std::uint32_t>{5, 3, 2});
        put(s, posts, 5, "five", {by(0, bob)});
        CHECK(text_of(s.find(posts, 0, alice)) == "three");
        write_batch batch;
        batch.erase(posts, 3);
        s.write(batch);
        CHECK(text_of(s.find(posts, 0, alice)) == "two");
        CHECK(s.count(posts) == 2);
    });
}

TEST_CASE("operations of a batch see those before them") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, "one", {by(0, alice)});
        write_batch batch;
        batch.erase(posts, 1);
        batch.put(posts, 2, as_bytes("two"), std::vector{by(0, alice)});
        batch.put(posts, 1, as_bytes("again"), std::vector{by(0, bob)});
        batch.put(posts, 3, as_bytes("gone"));
        batch.erase(posts, 3);
        s.write(batch);
        CHECK(text_of(s.find(posts, 0, alice)) == "two");
        CHECK(text_of(s.find(posts, 0, bob)) == "again");
        CHECK_FALSE(s.contains(posts, 3));
        CHECK(s.count(posts) == 2);
    });
}

TEST_CASE("erase takes the row and its keys, once") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, "one", {by(0, alice)});
        write_batch batch;
        batch.erase(posts, 1);
        batch.erase(posts, 1);
        batch.erase(posts, 99);
        s.write(batch);
        CHECK_FALSE(s.find(posts, 1));
        CHECK_FALSE(s.find(posts, 0, alice));
        CHECK(s.count(posts) == 0);
        CHECK(s.stats().rows_erased == 1);
    });
}

TEST_CASE("a found row stays as it was while its handle lives") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, std::string(10000, 'x'), {by(0, alice)});
        s.flush();
        auto row = s.find(posts, 0, alice);
        put(s, posts, 1, "y");
        s.flush();
        const auto moved = std::move(row);
        CHECK(text_of(moved) == std::string(10000, 'x'));
        CHECK(text_of(s.find(posts, 1)) == "y");
    });
}

TEST_CASE("a found row outlives its store") {
    for (const engine which : {engine::rocksdb, engine::memory, engine::heap}) {
        scratch_folder folder;
        any_store s(which, folder / "store");
        const table_id posts = s->open_table("posts");
        put(*s, posts, 1, std::string(10000, 'x'));
        s->flush();
        const auto row = s->find(posts, 1);
        s.close();
        CHECK(text_of(row) == std::string(10000, 'x'));
    }
}

TEST_CASE("tables do not see each other's rows and keys") {
    over_keeping_stores([](store& s, table_id posts) {
        const table_id votes = s.open_table("votes", {"by_permlink"});
        put(s, posts, 1, "post", {by(0, alice)});
        put(s, votes, 1, "vote", {by(0, bob)});
        CHECK(text_of(s.find(posts, 1)) == "post");
        CHECK(text_of(s.find(votes, 1)) == "vote");
        CHECK_FALSE(s.find(votes, 0, alice));
        CHECK(s.count(votes) == 1);
    });
}

TEST_CASE("keys are walked in their order, from any of them") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, "", {by(0, make_key("bob", 2u))});
        put(s, posts, 2, "", {by(0, make_key("alice", 9u))});
        put(s, posts, 3, "", {by(0, make_key("bob", 1u))});
        put(s, posts, 4, "", {by(0, make_key("bobby", 0u))});
        std::vector<std::uint32_t> found;
        const byte_buffer of_bob = make_key("bob");
        for (auto at = s.keys(posts, 0, of_bob); at.valid() && starts_with(at.key(), of_bob);
             at.next())
            found.push_back(at.id());
        CHECK(found == std::vector<std::uint32_t>{3, 1});
    });
}

TEST_CASE("rows are walked to the last id there can be") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, UINT32_MAX, "last");
        put(s, posts, 0, "first");
        auto at = s.rows(posts);
        CHECK(at.id() == 0);
        at.next();
        REQUIRE(at.valid());
        CHECK(at.id() == UINT32_MAX);
        CHECK(as_text(at.record()) == "last");
        at.next();
        CHECK_FALSE(at.valid());
        CHECK_FALSE(s.rows(posts, 1).id() == 0);
    });
}

TEST_CASE("lookups are counted by how they end") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, "one", {by(0, alice)});
        (void)s.find(posts, 1);
        (void)s.find(posts, 0, alice);
        (void)s.find(posts, 2);
        (void)s.contains(posts, 1);
        CHECK(s.stats().lookups(lookup::hit_in_archive).count() == 2);
        CHECK(s.stats().lookups(lookup::miss).count() == 1);
        CHECK(s.stats().lookups(lookup::hit_in_memory).count() == 0);
        CHECK(s.stats().batches.count() == 1);
        CHECK(s.stats().bytes_put > 3);
        CHECK(s.stats().record_bytes_put == 3);
    });
}

TEST_CASE("batches are counted with the largest one") {
    over_keeping_stores([](store& s, table_id posts) {
        put(s, posts, 1, "first", {});
        write_batch batch;
        for (std::uint32_t id = 1; id <= 7; ++id) // the first one exists already
            batch.put(posts, id, as_bytes(std::string_view("first")));
        s.write(batch);
        put(s, posts, 8, "eighth", {});
        const statistics_summary all = s.stats().summarized();
        CHECK(all.batches.count == 3);
        CHECK(all.largest_batch_rows == 7);
        CHECK(all.largest_batch_bytes == 7 * (5 + 2)); // including the number of keys
        CHECK(all.rows_put == 8);
        CHECK(all.rows_unchanged == 1);
        CHECK(all.record_bytes_put == 7 * 5 + 6);
        CHECK(all.bytes_put > all.record_bytes_put);
        CHECK(all.batches.total_ns > 0);
        CHECK(all.batches.longest_ns >= all.batches.p50_ns);
    });
}

TEST_CASE("readers beside a writer find whole rows or none") {
    over_stores_without_locks([](store& s, table_id posts) {
        std::atomic<bool> done{false};
        std::atomic<int> torn{0};
        std::thread reader([&] {
            while (!done)
                for (std::uint32_t id = 0; id < 20; ++id) {
                    const auto row = s.find(posts, 0, make_key(id));
                    if (row && (row->id() != id || row->record().size() != 100 + id)) ++torn;
                    for (auto at = s.rows(posts); at.valid(); at.next())
                        if (at.record().size() != 100 + at.id()) ++torn;
                }
        });
        write_batch batch;
        for (int round = 0; round < 200; ++round) {
            batch.clear();
            for (std::uint32_t id = 0; id < 20; ++id) {
                if (round % 2)
                    batch.erase(posts, id);
                else
                    batch.put(posts, id, as_bytes(std::string(100 + id, 'r')),
                              std::vector{by(0, make_key(id))});
            }
            REQUIRE_NOTHROW(s.write(batch));
        }
        done = true;
        reader.join();
        CHECK(torn == 0);
        CHECK(s.stats().failures == 0); // in particular no dangling key
    });
}

TEST_CASE("a key never leads nowhere, however often its row comes and goes") {
    over_stores_without_locks([](store& s, table_id posts) {
        std::atomic<bool> done{false};
        std::atomic<int> wrong{0};
        std::thread reader([&] {
            while (!done) {
                try {
                    const auto row = s.find(posts, 0, alice);
                    if (row && as_text(row->record()) != "one") ++wrong;
                } catch (const damaged_error&) {
                    ++wrong;
                }
            }
        });
        for (int round = 0; round < 20000; ++round) {
            write_batch batch;
            round % 2 ? batch.erase(posts, 1)
                      : batch.put(posts, 1, as_bytes("one"), std::vector{by(0, alice)});
            s.write(batch);
        }
        done = true;
        reader.join();
        CHECK(wrong == 0);
    });
}

TEST_CASE("rows in the state that are damaged are an error and never not there") {
    scratch_folder folder;
    database state(folder / "state", chainbase::test::small_state());
    memory_store s(state);
    const table_id posts = s.open_table("posts", {"by_permlink"});
    put(s, posts, 1, "one", {by(0, alice)});
    put(s, posts, 2, "two", {by(0, bob)});
    state.modify(state.get(id<chainbase::archive::detail::kept_row>(0)),
                 [](auto& one) { one.content = as_bytes("x"); });
    state.remove(state.get(id<chainbase::archive::detail::kept_row>(1)));
    CHECK_THROWS_AS((void)s.find(posts, 1), damaged_error);
    CHECK_THROWS_AS((void)s.find(posts, 0, alice), damaged_error);
    CHECK_THROWS_AS((void)s.rows(posts), damaged_error);
    CHECK_THROWS_WITH((void)s.find(posts, 0, bob), Catch::Contains("row 2, which is missing"));
    CHECK(s.stats().failures == 4);
}

TEST_CASE("none keeps no rows, refuses them, and never finds") {
    const auto s = std::make_unique<none_store>();
    const table_id posts = s->open_table("posts", {"by_permlink"});
    CHECK_THROWS_AS(put(*s, posts, 1, "one", {by(0, alice)}), usage_error);
    s->sync();
    s->flush();
    CHECK_FALSE(s->find(posts, 1));
    CHECK_FALSE(s->find(posts, 0, alice));
    CHECK_FALSE(s->contains(posts, 1));
    CHECK(s->count(posts) == 0);
    CHECK_FALSE(s->rows(posts).valid());
    CHECK_FALSE(s->keys(posts, 0).valid());
    CHECK(s->stats().lookups(lookup::miss).count() == 2);
}

TEST_CASE("wrong calls are usage errors that say what there is") {
    for (const engine which : {engine::rocksdb, engine::memory, engine::heap}) {
        scratch_folder folder;
        any_store s(which, folder / "store");
        const table_id posts = s->open_table("posts", {"by_permlink"});
        CHECK(s->open_table("posts", {"by_permlink"}) == posts);
        CHECK_THROWS_AS(s->open_table("posts", {"by_time"}), schema_error);
        CHECK_THROWS_AS(s->open_table(""), usage_error);
        CHECK_THROWS_AS(s->open_table("a/b"), usage_error);
        CHECK_THROWS_AS(s->open_table("votes", {"two words"}), usage_error);
        CHECK_THROWS_AS((void)s->find(table_id{7}, 1), usage_error);
        CHECK_THROWS_WITH((void)s->find(posts, 1, alice), Catch::Contains("by_permlink"));
        CHECK_THROWS_AS(put(*s, posts, 1, "", {by(1, alice)}), usage_error);
        CHECK_THROWS_AS(put(*s, posts, 1, "", {by(0, byte_buffer(70000))}), limit_error);
        CHECK(s->tables().size() == 1);
    }
    CHECK(store_kind_of("memory") == store_kind::memory);
    CHECK_THROWS_AS(store_kind_of("leveldb"), usage_error);
}
