#include <archive/lifecycle.hpp>
#include <archive/memory_store.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <string>
#include <vector>

/// What a state knows of the keys of objects that left its memory.
using namespace chainbase;
using namespace chainbase::test;
using archive::detail::filter_block;
using filter = archive::detail::key_filter<note>;

namespace {

constexpr int notes_written = 20;

/// A state whose notes left memory for its archive in memory, as versions without filters left it.
void write_chain(const std::filesystem::path& folder) {
    using archived_keys = archive::detail::archived_keys<note>;
    using entry = archive::detail::retired<note>;
    database state(folder, small_state());
    state.add_type<note>("note");
    state.add_type<entry>("note.retired");
    archive::memory_store rows(state);
    const archive::table_id table = rows.open_table("note", archived_keys::names());
    archive::write_batch batch;
    for (int n = 0; n < notes_written; ++n) {
        const note& leaving = write(state, "alice", std::to_string(n), n);
        archive::byte_buffer record;
        archive::encode(leaving, record);
        std::vector<archive::byte_buffer> bytes(archived_keys::count);
        std::vector<archive::secondary_key> keys(archived_keys::count);
        archived_keys::each(leaving, [&](std::uint32_t number, auto&& append) {
            append(bytes[number]);
            keys[number] = {number, bytes[number]};
        });
        batch.put(table, leaving.id.value, record, keys);
        state.remove(state.create<entry>([&](entry& one) { one.object = leaving.id; }));
        state.remove(leaving);
    }
    rows.write(batch);
}

} // namespace

TEST_CASE("a filter of several generations has every key and few others and is undone") {
    const std::uint64_t seed = test_seed(4);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const temporary_folder folder;
    database state(folder / "state", small_state());
    filter keys(state, "note");
    CHECK(keys.empty());
    std::vector<std::uint64_t> added(60'000);
    session all = state.start_session();
    for (std::size_t n = 0; n < added.size(); ++n)
        keys.add(added[n] = random.next(), n);
    for (const std::uint64_t hash : added)
        REQUIRE(keys.may_have(hash));
    int wrong = 0;
    for (int n = 0; n < 10'000; ++n)
        wrong += keys.may_have(random.next()) ? 1 : 0;
    CHECK(wrong < 300);
    all.undo();
    CHECK(keys.empty());
    CHECK_FALSE(keys.may_have(added.front()));
}

TEST_CASE("a state that has no filter yet gets it when it is opened") {
    const temporary_folder folder;
    write_chain(folder / "state");
    database state(folder / "state", small_state());
    state.add_type<note>("note");
    archive::memory_store rows(state);
    notes all(state, rows, "note");
    for (int n = 0; n < notes_written; ++n)
        CHECK(all.find<by_title>("alice", std::to_string(n)));
    CHECK(state.count<filter_block<note>>() != 0);
}
