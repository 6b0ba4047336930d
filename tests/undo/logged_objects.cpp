#include <undo/logged_objects.hpp>

#include <catch2/catch.hpp>

#include <random>
#include <set>
#include <vector>

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
