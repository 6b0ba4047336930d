// The tables behind hashed keys grow in the midst of sessions. Undo brings the smaller ones back,
// byte for byte.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;

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
