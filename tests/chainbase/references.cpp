// References to objects stay valid whatever happens to others.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint32_t many = 100'000;

template <typename T>
void add_many(one_type<T>& s) {
    for (std::uint32_t k = 1; k <= many; ++k)
        s.add(k, k % 1000);
}

} // namespace

TEMPLATE_TEST_CASE("a reference outlives the growth of every file", "", item, card, ticket) {
    one_type<TestType> s;
    const TestType& a = s.add(0, 7);
    add_many(s);
    CHECK(s.find(0) == &a);
    CHECK(s.at(0) == &a);
    CHECK(a.group == 7);
    const TestType& last = *s.at(many);
    for (std::uint32_t k = 1; k < many; ++k)
        s.db.remove(*s.at(k));
    CHECK(s.at(0) == &a);
    CHECK(s.at(many) == &last);
    CHECK(last.key == many);
}

TEMPLATE_TEST_CASE("a reference outlives a growth that is undone", "", item, card, ticket) {
    one_type<TestType> s;
    const TestType& a = s.add(0, 7);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.db.modify(a, [](TestType& t) { t.value = 3; });
        add_many(s);
        CHECK(a.value == 3);
        s.db.remove(a);
        s.add(0, 9); // in its slot
    }
    CHECK(s.now() == before);
    CHECK(s.at(0) == &a);
    CHECK(a.group == 7);
    CHECK(a.value == 0);
    add_many(s);
    CHECK(s.at(0) == &a);
}
