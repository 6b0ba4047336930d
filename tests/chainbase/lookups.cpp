// Lookups by the leading parts of a key, by computed keys, and what values can be passed.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

struct by_owner;
struct by_half;
struct by_remainder;

/// A composite key of text and a descending number, and keys that are computed.
struct entry {
    chainbase::id<entry> id;
    std::uint32_t number = 0;
    shared_string owner;

    [[nodiscard]] std::uint32_t half() const { return number / 2; }
    [[nodiscard]] std::uint32_t remainder() const noexcept { return number % 10; }

    using keys =
        chainbase::keys<ordered_unique<by_owner, &entry::owner, descending<&entry::number>>,
                        hashed_unique<by_half, &entry::half>,
                        ordered_non_unique<by_remainder, &entry::remainder>>;
};
BOOST_DESCRIBE_STRUCT(entry, (), (id, number, owner))

struct entries {
    entries() : db(folder / "state", quick_options()) {
        db.add_type<entry>("entry");
        for (std::uint32_t n = 0; n < 100; n += 2)
            db.create<entry>([&](entry& e) {
                e.number = n;
                e.owner = std::string(n % 3 == 0 ? "alice" : n % 3 == 1 ? "bob" : "");
            });
    }
    scratch_folder folder;
    database db;
};

} // namespace

TEST_CASE("a composite key is looked up by its first part, in order of the second") {
    const entries s;
    const auto view = s.db.view<entry, by_owner>();
    const auto [from, to] = view.equal_range("alice");
    std::vector<std::uint32_t> numbers;
    for (auto at = from; at != to; ++at)
        numbers.push_back(at->number);
    CHECK(numbers.size() == 17);
    CHECK(numbers.front() == 96);
    CHECK(numbers.back() == 0);
    CHECK(std::is_sorted(numbers.rbegin(), numbers.rend()));
    CHECK(view.lower_bound("alice") == from);
    CHECK(view.upper_bound("alice") == view.lower_bound("bob"));
    CHECK(view.lower_bound("alice", 50U)->number == 48);
    CHECK(view.upper_bound("alice", 48U)->number == 42);
    CHECK(s.db.find<entry, by_owner>("alice")->number == 96);
    CHECK(s.db.find<entry, by_owner>("")->owner.empty());
    CHECK(s.db.find<entry, by_owner>("zoe") == nullptr);
    CHECK(s.db.find<entry, by_owner>(std::string("bob"), 4U) != nullptr);
    CHECK(s.db.find<entry, by_owner>("bob", 6U) == nullptr);
    CHECK(view.equal_range("carol").first == view.equal_range("carol").second);
}

TEST_CASE("a computed key follows what it is computed from") {
    entries s;
    const entry& e = s.db.get<entry, by_half>(7U);
    CHECK(e.number == 14);
    s.db.modify(e, [](entry& t) { t.number = 15; }); // the half is the same
    CHECK(s.db.find<entry, by_half>(7U) == &e);
    const snapshot before(s.db.memory());
    CHECK_THAT(
        message_of<duplicate_key_error>([&] { s.db.modify(e, [](entry& t) { t.number = 17; }); }),
        Contains("by_half") && Contains("(8)"));
    CHECK(snapshot(s.db.memory()) == before);
    const auto fives = s.db.view<entry, by_remainder>().equal_range(5U);
    REQUIRE(std::distance(fives.first, fives.second) == 1);
    CHECK(&*fives.first == &e);
    s.db.modify(e, [](entry& t) { t.number = 1001; });
    CHECK(s.db.find<entry, by_half>(7U) == nullptr);
    CHECK(s.db.find<entry, by_half>(500U) == &e);
}

TEST_CASE("objects are iterated by id from any id on") {
    entries s;
    s.db.remove(s.db.get(id<entry>(10)));
    s.db.remove(s.db.get(id<entry>(11)));
    const auto view = s.db.objects<entry>();
    CHECK(view.lower_bound(id<entry>(9))->id.value == 9);
    CHECK(view.lower_bound(id<entry>(10))->id.value == 12);
    CHECK(view.lower_bound(id<entry>(50)) == view.end());
    CHECK(view.lower_bound(id<entry>(4'000'000'000)) == view.end());
    CHECK(std::distance(view.begin(), view.end()) == 48);
}

TEST_CASE("a value that the key's type cannot hold is not found, and has no place in the order") {
    entries s;
    REQUIRE(s.db.find<entry, by_half>(7U) != nullptr);
    CHECK(s.db.find<entry, by_half>(7) == s.db.find<entry, by_half>(std::uint64_t{7}));
    CHECK(s.db.find<entry, by_half>((std::uint64_t{1} << 32) + 7) == nullptr);
    CHECK(s.db.find<entry, by_half>(-1) == nullptr);
    CHECK(s.db.find<entry, by_owner>("a name of more than sixteen bytes") == nullptr);
    CHECK_THROWS_AS((s.db.get<entry, by_half>(std::uint64_t{1} << 32)), not_found_error);
    const auto remainders = s.db.view<entry, by_remainder>();
    CHECK_THAT(message_of<usage_error>([&] { (void)remainders.lower_bound(-5); }),
               Contains("(-5)"));
    CHECK_THROWS_AS(remainders.equal_range(std::uint64_t{1} << 40), usage_error);
}

TEST_CASE("text that does not fit a fixed string is refused") {
    CHECK(fixed_string<8>("12345678").view() == "12345678");
    CHECK_THROWS_AS(fixed_string<8>("123456789"), usage_error);
    CHECK_THROWS_AS(fixed_string<8>(std::string_view("a\0b", 3)), usage_error);
    CHECK(fixed_string<8>("b") > fixed_string<8>("abc"));
    CHECK(fixed_string<8>("\xff") > fixed_string<8>("a"));
    CHECK(fixed_string<8>("") < fixed_string<8>("a"));
}

TEST_CASE("objects and their strings cannot be changed past the database") {
    entries s;
    const entry& e = s.db.get(id<entry>(0));
    const snapshot before(s.db.memory());
    CHECK_THROWS_AS(const_cast<entry&>(e).owner = std::string("mallory"), usage_error);
    CHECK(snapshot(s.db.memory()) == before);
    entry copy = e;
    copy.owner = std::string("anyone");
    CHECK(copy.owner.view() == "anyone");
    CHECK(e.owner.view() == "alice");
}

TEST_CASE("prefetching changes nothing, whether the key is there or not") {
    entries s;
    const snapshot before(s.db.memory());
    const auto look = [&](auto value) {
        s.db.prefetch<entry, by_half>(value);
        s.db.prefetch_object<entry, by_half>(value);
        s.db.prefetch_id<entry, by_half>(value);
    };
    for (std::uint32_t half = 0; half < 200; ++half)
        look(half);
    look(std::int64_t{-1});       // no value of the part's type
    look(std::uint64_t{1} << 40); // nor this
    scratch_folder folder;
    database empty(folder / "state", quick_options());
    empty.add_type<entry>("entry");
    empty.prefetch<entry, by_half>(1u);
    empty.prefetch_object<entry, by_half>(1u);
    empty.prefetch_id<entry, by_half>(1u);
    CHECK(snapshot(s.db.memory()) == before);
}
