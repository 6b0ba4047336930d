// The space of a state: growing hash tables, compaction, log space, the schema hash.

#include <chainbase/statistics.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

// The tables of hashed keys grow within sessions. Undo restores the smaller ones, byte for byte.

namespace {

constexpr std::uint32_t at_first = 300; // in tables of 512 entries, which grow at 410
constexpr std::uint32_t at_most = 5000;

void add_up_to(one_type<card>& s, std::uint32_t count) {
    for (auto k = static_cast<std::uint32_t>(s.count()); k < count; ++k)
        s.add(k, k);
}

std::size_t group_size(const one_type<card>& s, std::uint32_t group) {
    const auto found = s.db.view<card, by_group>().equal_range(group);
    return static_cast<std::size_t>(std::distance(found.begin(), found.end()));
}

void check_all(const one_type<card>& s, std::uint32_t count) {
    CHECK(s.count() == count);
    for (std::uint32_t k = 0; k < at_most; ++k) {
        const card* found = s.at(k);
        if ((found != nullptr) != (k < count) || (found && found->key != k)) FAIL("key " << k);
        if (group_size(s, k) != (k < count)) FAIL("group " << k);
    }
}

} // namespace

TEST_CASE("hash tables that grew in a session are undone byte for byte, and grow again") {
    one_type<card> s;
    add_up_to(s, at_first);
    const snapshot before = s.now();
    for (int round = 0; round < 2; ++round) {
        auto session = s.db.start_session();
        add_up_to(s, at_most);
        check_all(s, at_most);
        s.clear();
        check_all(s, 0);
        add_up_to(s, at_most);
        check_all(s, at_most);
        session.undo();
        CHECK(s.now() == before);
        check_all(s, at_first);
    }
    add_up_to(s, at_most);
    check_all(s, at_most);
}

TEST_CASE("a growth in an inner session that is squashed is undone with the outer one") {
    one_type<card> s;
    add_up_to(s, at_first);
    const snapshot before = s.now();
    auto outer = s.db.start_session();
    add_up_to(s, 350);
    const snapshot between = s.now();
    {
        auto inner = s.db.start_session();
        add_up_to(s, 2000);
    }
    CHECK(s.now() == between);
    {
        auto inner = s.db.start_session();
        add_up_to(s, 1000);
        inner.squash();
    }
    {
        auto inner = s.db.start_session();
        add_up_to(s, at_most);
        inner.squash();
    }
    check_all(s, at_most);
    outer.undo();
    CHECK(s.now() == before);
    check_all(s, at_first);
}

TEST_CASE("a growth is undone after sessions below it were committed") {
    one_type<card> s;
    add_up_to(s, at_first);
    for (const std::uint32_t count : {600U, 1200U, 2400U}) {
        auto block = s.db.start_session();
        add_up_to(s, count);
        block.push();
    }
    s.db.commit(1);
    s.db.undo();
    check_all(s, 1200);
    s.db.commit(2);
    const snapshot settled = s.now();
    {
        auto session = s.db.start_session();
        add_up_to(s, at_most);
    }
    CHECK(s.now() == settled);
    check_all(s, 1200);
}

// Compacting moves objects, releases space and loses nothing.

TEMPLATE_TEST_CASE("after random removals compaction shortens the files and keeps every lookup", "",
                   item, card) {
    one_type<TestType> s;
    random_source random(test_seed(1));
    std::map<std::uint32_t, std::uint32_t> id_of_key;
    constexpr std::uint32_t objects = 20'000;
    for (std::uint32_t k = 0; k < objects; ++k)
        id_of_key[k] = s.add(k, k % 500).id.value;
    for (std::uint32_t k = 0; k < objects; ++k) {
        if (random.below(3) == 0) continue;
        s.db.remove(*s.at(k));
        id_of_key.erase(k);
    }
    const auto file = s.folder / "state/segment/thing.objects";
    const auto length = std::filesystem::file_size(file);
    const auto before = segment_statistics::read(s.db.memory()).types[0];
    s.db.compact();
    const auto after = segment_statistics::read(s.db.memory()).types[0];
    CHECK(std::filesystem::file_size(file) < length / 2);
    CHECK(after.nodes.slots_free == 0);
    CHECK(after.total().total < before.total().total);
    CHECK(after.objects == before.objects);
    CHECK(s.count() == id_of_key.size());
    std::map<std::uint32_t, std::size_t> groups;
    for (std::uint32_t k = 0; k < objects; ++k) {
        const auto wanted = id_of_key.find(k);
        const TestType* found = s.at(k);
        if ((found != nullptr) != (wanted != id_of_key.end())) FAIL("key " << k);
        if (!found) continue;
        if (found->id.value != wanted->second || s.find(wanted->second) != found)
            FAIL("object of key " << k);
        ++groups[k % 500];
    }
    for (std::uint32_t g = 0; g < 500; ++g) {
        const auto view = s.db.template view<TestType, by_group>();
        if (view.count(g) != groups[g]) FAIL("group " << g);
    }
    {
        const snapshot settled = s.now();
        auto session = s.db.start_session();
        s.add(objects + 1);
        s.db.remove(*s.at(objects + 1));
        session.undo();
        CHECK(s.now() == settled);
    }
    s.db.compact(); // nothing left to do
    CHECK(s.count() == id_of_key.size());
    s.clear();
    s.db.compact();
    CHECK(s.count() == 0);
    s.add(1);
    CHECK(s.at(1) != nullptr);
}

// Strings assigned by an operation take log space of their own. Wherever in a log chunk this
// happens, the rest of the operation finds space, too. Builds with assertions check each record; in
// others the log must at least be walkable backwards.

namespace {

struct refused {};

struct labels {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    labels() { db.add_type<label>("label"); }

    const label& add(std::size_t bytes, std::uint32_t number) {
        return db.create<label>([&](label& one) { one.text = text(bytes, number); });
    }
    static std::string text(std::size_t bytes, std::uint32_t number) {
        std::string result = std::to_string(number);
        result.resize(std::max(bytes, result.size()), '.');
        return result;
    }
};

/// A sequence without a period, so that chunks end at different offsets.
std::uint32_t scattered(std::uint32_t number) {
    return number * 2'654'435'761U >> 12;
}

constexpr std::uint32_t chunks_to_fill = 40;

struct posts {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    posts() { db.add_type<post>("post"); }

    const post& add(std::size_t bytes) {
        return db.create<post>([&](post& one) {
            one.permlink = std::to_string(bytes);
            one.body = labels::text(bytes, 0);
        });
    }
    /// Tries to create a post of `bytes` bytes whose initialiser throws.
    bool is_refused(std::size_t bytes) {
        try {
            db.create<post>([&](post& one) {
                one.body = labels::text(bytes, 0);
                throw refused();
            });
            return false;
        } catch (const refused&) {
            return true;
        }
    }
};

std::size_t left_in_chunk(log_position tail) {
    return undo_log::chunk_bytes - (tail - window_header::page_bytes) % undo_log::chunk_bytes;
}

} // namespace

TEST_CASE("a key of text changes at every place of a chunk") {
    labels s;
    const label& changing = s.add(120, 0);
    for (std::uint32_t i = 1; i <= 150; ++i)
        s.add(100 + i, i);
    for (std::uint32_t i = 1; i <= 150; ++i)
        s.db.remove(s.db.get(id<label>(i))); // reused buffers are logged
    const snapshot before(s.db.memory());
    auto session = s.db.start_session();
    const auto& log = s.db.memory().words();
    for (std::uint32_t i = 1000; log.chunks.live < chunks_to_fill; ++i) {
        auto block = s.db.start_session(); // a session's first touch takes most log space
        s.db.modify(changing,
                    [&](label& one) { one.text = labels::text(100 + scattered(i) % 150, i); });
        block.push();
    }
    CHECK(s.db.find<label, by_text>(changing.text.view()) == &changing);
    session.undo();
    CHECK(snapshot(s.db.memory()) == before);
    CHECK(s.db.find<label, by_text>(labels::text(120, 0)) == &changing);
}

TEST_CASE("a creation fails at every place of a chunk") {
    posts s;
    const post& changing = s.add(20);
    const std::vector<std::size_t> lengths{8192, 12288, 16384, 24576, 32768, 49152, 65536};
    for (const std::size_t length : lengths)
        s.add(length);
    for (std::uint32_t i = 1; i <= lengths.size(); ++i)
        s.db.remove(s.db.get(id<post>(i))); // reused slots are logged
    const snapshot before(s.db.memory());
    const auto& log = s.db.memory().words();
    std::size_t refusals = 0;
    for (std::uint32_t i = 1; log.chunks.live < 12; ++i) {
        auto block = s.db.start_session();
        s.db.modify(changing, [&](post& one) { one.likes = i; });
        if (scattered(i) % 2 == 0) s.db.modify(changing, [&](post& one) { one.body = "short"; });
        block.push();
        const std::size_t left = left_in_chunk(log.tail);
        if (left > 70'000) continue;
        for (const std::size_t length : lengths)
            refusals += s.is_refused(length);
    }
    CHECK(refusals > 1000);
    s.db.undo_all();
    CHECK(snapshot(s.db.memory()) == before);
}

// The schema hash decides whether a state can be opened: it is equal for all compilers and changes
// only intentionally.

TEST_CASE("the hash of a schema is the same everywhere and for ever") {
    CHECK(schema_of<card>("thing").hash() == 0xB9BE'A8FE'ADB2'E47CU);
    CHECK(schema_of<account>("account").hash() == 0xEDA1'6D11'5D6C'D6D4U);
}

TEST_CASE("the hash of a schema depends on its name and everything in it") {
    const type_schema one = schema_of<card>("thing");
    CHECK(schema_of<card>("other").hash() != one.hash());
    CHECK(schema_of<item>("thing").hash() != one.hash());
    type_schema other = one;
    other.fields[1].offset += 4;
    CHECK(other.hash() != one.hash());
    other = one;
    other.keys[0].parts[0].descending = true;
    CHECK(other.hash() != one.hash());
    other = one;
    ++other.root_bytes;
    CHECK(other.hash() != one.hash());
}
