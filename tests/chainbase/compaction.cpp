// Moving objects together gives space back and loses nothing.

#include <chainbase/statistics.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/random_source.hpp>

#include <filesystem>
#include <map>

using namespace chainbase;
using namespace chainbase::test;

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
        auto range = view.equal_range(g);
        std::size_t size = 0;
        if constexpr (std::is_same_v<TestType, card>)
            size = static_cast<std::size_t>(std::distance(range.begin(), range.end()));
        else
            size = static_cast<std::size_t>(std::distance(range.first, range.second));
        if (size != groups[g]) FAIL("group " << g);
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
