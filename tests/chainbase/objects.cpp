// Objects: lookups by id and by key, references, touched objects, small types; and typical use.

#include <chainbase/statistics.hpp>
#include <undo/session_changes.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <tests/support/one_type.hpp>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

// Lookups by the leading parts of a key and by computed keys, and the accepted argument types.

namespace {

struct by_owner;
struct by_half;
struct by_remainder;

/// A composite key of text and a descending number, and computed keys.
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
    CHECK(view.equal_range("carol").empty());
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
    REQUIRE(std::distance(fives.begin(), fives.end()) == 1);
    CHECK(&fives.front() == &e);
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

// References to objects stay valid when others change.

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
        s.add(0, 9); // reuses its slot
    }
    CHECK(s.now() == before);
    CHECK(s.at(0) == &a);
    CHECK(a.group == 7);
    CHECK(a.value == 0);
    add_many(s);
    CHECK(s.at(0) == &a);
}

// The objects in a session's log: all touched ones, each once, and no others.

namespace {

using ids = std::set<std::uint32_t>;

/// A state with 20 items and 20 cards.
struct items_and_cards {
    items_and_cards() : db(folder / "state", quick_options()) {
        db.add_type<item>("item");
        db.add_type<card>("card");
        for (std::uint32_t key = 0; key < 20; ++key) {
            make<item>(key);
            make<card>(key);
        }
    }
    template <typename T>
    void make(std::uint32_t key) {
        db.create<T>([&](T& one) { one.key = key; });
    }
    template <typename T>
    void change(std::uint32_t number) {
        db.modify(db.get(id<T>(number)), [](T& one) { ++one.value; });
    }
    template <typename T>
    void remove(std::uint32_t number) {
        db.remove(db.get(id<T>(number)));
    }
    /// Requires exactly these, in order.
    void require_touched(revision_number since, const ids& items, const ids& cards) {
        const undo_log& log = *db.memory().log();
        const auto begin = log.find_session(since);
        REQUIRE(begin);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
        for (const object_place& one : touched_objects(log, *begin))
            found.emplace_back(one.window, one.id);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> expected;
        for (const std::uint32_t number : items)
            expected.emplace_back(db.memory().types().find("item")->first_window, number);
        for (const std::uint32_t number : cards)
            expected.emplace_back(db.memory().types().find("card")->first_window, number);
        REQUIRE(found == expected);
    }

    scratch_folder folder;
    database db;
};

} // namespace

TEST_CASE("touched objects are those that a session created, modified and removed") {
    items_and_cards s;
    session block = s.db.start_session();
    s.require_touched(block.revision(), {}, {});
    s.change<card>(7);
    s.change<item>(9);
    s.change<item>(3);
    s.change<item>(3); // listed once
    s.remove<item>(4);
    s.make<card>(100);
    s.require_touched(block.revision(), {3, 4, 9}, {7, 20});
    s.make<item>(101); // of which nothing is left
    s.remove<item>(20);
    s.db.modify(s.db.get(id<card>(5)), [](card&) {}); // unchanged
    s.require_touched(block.revision(), {3, 4, 9, 20}, {5, 7, 20});
}

TEST_CASE("sessions within a session leave nothing but what they touched") {
    items_and_cards s;
    session block = s.db.start_session();
    s.change<item>(1);
    for (std::uint32_t number = 2; number < 6; ++number) {
        session transaction = s.db.start_session();
        s.change<item>(number);
        s.require_touched(transaction.revision(), {number}, {});
        transaction.squash();
    }
    {
        const session undone = s.db.start_session();
        s.change<item>(15);
        s.change<card>(15);
    }
    const revision_number first = block.revision();
    s.require_touched(first, {1, 2, 3, 4, 5}, {});
    block.push();
    session next = s.db.start_session();
    s.change<card>(1);
    s.require_touched(next.revision(), {}, {1});
    s.require_touched(first, {1, 2, 3, 4, 5}, {1});
}

// A type with no object or one takes little space: an application has dozens of types.

namespace {

/// Allocated bytes of the type's files.
template <typename T>
std::uint64_t allocated(const one_type<T>& s) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(s.folder / "state/segment")) {
        if (entry.path().filename().string().rfind("thing.", 0) != 0) continue;
        struct stat found{};
        REQUIRE(::stat(entry.path().c_str(), &found) == 0);
        bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    }
    return bytes;
}

template <typename T>
std::uint64_t counted(one_type<T>& s) {
    return segment_statistics::read(s.db.memory()).types[0].total().total;
}

} // namespace

TEMPLATE_TEST_CASE("a type without objects, or with one, takes little", "", item, card, ticket) {
    constexpr std::uint64_t bound = 160 << 10;
    one_type<TestType> s;
    CHECK(allocated(s) > 0);
    CHECK(allocated(s) <= bound);
    CHECK(counted(s) <= bound);
    s.add(1);
    CHECK(allocated(s) <= bound);
    CHECK(counted(s) <= bound);
    const std::uint64_t with_one = allocated(s);
    for (std::uint32_t k = 2; k < 5000; ++k)
        s.add(k, k);
    CHECK(allocated(s) > with_one);
    s.clear();
    s.add(1);
    s.db.compact();
    CHECK(counted(s) <= 3 * bound);
}

// Invalid calls are refused with a message, and change nothing.

TEST_CASE("a type or a name can be registered once only") {
    one_type<item> s;
    CHECK_THAT(message_of<usage_error>([&] { s.db.add_type<item>("other"); }), Contains("other"));
    CHECK_THAT(message_of<usage_error>([&] { s.db.add_type<card>("thing"); }), Contains("thing"));
    s.db.add_type<card>("card");
    s.db.create<card>([](card& c) { c.key = 4; });
    CHECK(s.db.count<item>() == 0);
    CHECK(s.db.count<card>() == 1);
}

namespace {

struct turned_inside {
    shared_string text;
    std::uint32_t number = 0;
    std::uint32_t other = 0;
};
BOOST_DESCRIBE_STRUCT(turned_inside, (), (number, other, text))

/// Whose members are described in another order than they are declared, or those of a part.
struct turned {
    chainbase::id<turned> id;
    std::uint32_t number = 0;
    shared_string text;
    shared_string other;
    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(turned, (), (id, number, other, text))
template <typename Part>
struct with_part {
    chainbase::id<with_part> id;
    Part part;
    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(with_part, (), (id, part), (), ())
};

} // namespace

TEST_CASE("members are described in the order of their declaration, or the type is refused") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    const auto refusal = [&]<typename T>(const T&) {
        return message_of<usage_error>([&] { db.add_type<T>("type"); });
    };
    CHECK_THAT(refusal(turned()), Contains("turned: the member `other`"));
    CHECK_THAT(refusal(with_part<turned_inside>()), Contains("turned_inside: the member `number`"));
    CHECK_THAT(refusal(with_part<std::array<turned_inside, 2>>()), Contains("turned_inside"));
    CHECK_THAT(refusal(with_part<shared_vector<turned_inside>>()), Contains("turned_inside"));
    CHECK(db.types().empty());
}

TEST_CASE("a type that is not registered cannot be used") {
    one_type<item> s;
    CHECK_THROWS_AS(s.db.create<card>([](card&) {}), usage_error);
    CHECK_THROWS_AS(s.db.find(id<card>(0)), usage_error);
    CHECK_THROWS_AS(s.db.count<card>(), usage_error);
}

TEST_CASE("get of what is not there names it; find gives null") {
    one_type<item> s;
    s.add(1);
    CHECK(s.db.find(id<item>(1)) == nullptr);
    CHECK(s.db.find(id<item>(UINT32_MAX)) == nullptr);
    CHECK(s.at(2) == nullptr);
    CHECK_THAT(message_of<not_found_error>([&] { (void)s.db.get(id<item>(77)); }),
               Contains("thing") && Contains("77"));
    const auto by_unknown_key = [&] { (void)s.db.get<item, by_key>(78U); };
    CHECK_THAT(message_of<not_found_error>(by_unknown_key),
               Contains("thing") && Contains("by_key") && Contains("78"));
    CHECK(&s.db.get(id<item>(0)) == s.at(1));
}

TEST_CASE("a message has all of a text, whatever bytes are in it") {
    const entries s;
    const std::string owner("a\0b\"\n", 5);
    CHECK_THAT(message_of<not_found_error>([&] { (void)s.db.get<entry, by_owner>(owner, 7); }),
               Contains(R"(("a\u0000b\"\u000a", 7))"));
}

TEST_CASE("undo, squash and changes need a session") {
    one_type<item> s;
    CHECK_THROWS_AS(s.db.undo(), usage_error);
    CHECK_THROWS_AS(s.db.squash(), usage_error);
    CHECK_THROWS_AS(s.db.changes(1).of<item>(), usage_error);
    CHECK_NOTHROW(s.db.undo_all());
    CHECK_NOTHROW(s.db.commit(5));
    auto session = s.db.start_session();
    CHECK_THROWS_AS(s.db.compact(), usage_error);
    CHECK_THROWS_AS(s.db.changes(2).of<item>(), usage_error);
    CHECK(s.db.changes(1).of<item>().empty());
}

TEST_CASE("a database that was closed is found closed, and does nothing any more") {
    one_type<item> s;
    const item& a = s.add(1);
    {
        auto session = s.db.start_session();
        CHECK_THAT(message_of<usage_error>([&] { s.db.close(); }),
                   Contains("1 sessions are still"));
        s.db.modify(a, [](item& t) { t.value = 5; });
        session.push();
    }
    s.db.close();
    CHECK_NOTHROW(s.db.close());
    CHECK(s.db.revision() == 1);
    CHECK_THROWS_AS(s.add(2), usage_error);
    CHECK_THROWS_AS(s.db.start_session(), usage_error);
    CHECK_THROWS_AS(s.db.count<item>(), usage_error);
    database reader(s.folder / "state", quick_options(open_mode::read_only));
    CHECK(reader.memory().header().clean == 1);
    CHECK(reader.revision() == 1);
    CHECK(reader.committed_revision() == 0);
}

TEST_CASE("a read-only database refuses to change") {
    one_type<item> s;
    const item& a = s.add(1);
    database reader(s.folder / "state", quick_options(open_mode::read_only));
    reader.add_type<item>("thing");
    const item* seen = reader.find<item, by_key>(1U);
    REQUIRE(seen != nullptr);
    CHECK(seen != &a);
    CHECK(seen->id == a.id);
    const snapshot before = s.now();
    CHECK_THROWS_AS(reader.create<item>([](item&) {}), usage_error);
    CHECK_THROWS_AS(reader.modify(*seen, [](item& t) { t.value = 1; }), usage_error);
    CHECK_THROWS_AS(reader.remove(*seen), usage_error);
    CHECK_THROWS_AS(reader.clear<item>(), usage_error);
    CHECK_THROWS_AS((void)reader.start_session(), usage_error);
    CHECK_THROWS_AS(reader.add_type<card>("card"), usage_error);
    CHECK(s.now() == before);
    s.db.modify(a, [](item& t) { t.value = 3; });
    CHECK(seen->value == 3); // the same memory, mapped twice
    s.add(2);
    CHECK(reader.find<item, by_key>(2U) != nullptr);
}
