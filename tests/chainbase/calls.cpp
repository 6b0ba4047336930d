// Calls composed of simpler ones: by id and by key, of many objects at once, in ranges; checked
// locks; a moved database; calls after closing.

#include <chainbase/database.hpp>
#include <chainbase/find_together.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>
#include <tests/support/temporary_folder.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

/// Calls whose results nobody uses may be left out.
volatile std::size_t used = 0;

template <typename Range>
std::vector<std::uint32_t> ids_of(const Range& range) {
    std::vector<std::uint32_t> ids;
    for (const auto& object : range)
        ids.push_back(object.id.value);
    return ids;
}

} // namespace

TEMPLATE_TEST_CASE("objects are changed and removed by id and by key", "", item, card) {
    one_type<TestType> s;
    s.add(1, 4);
    s.add(2, 4);
    const id<TestType> second(1);
    s.db.modify(second, [](TestType& one) { one.value = 9; });
    CHECK(s.db.get(second).value == 9);
    s.db.template modify<TestType, by_key>(1U, [](TestType& one) { one.value = 8; });
    s.db.template modify<TestType, by_key>(std::tuple(1U), [](TestType& one) { one.value += 1; });
    CHECK(s.at(1)->value == 9);
    CHECK(s.db.contains(second));
    CHECK(s.db.template contains<TestType, by_key>(2U));
    CHECK(s.db.template count<TestType, by_group>(4U) == 2);
    CHECK(s.db.template count<TestType, by_group>(5U) == 0);
    s.db.remove(second);
    CHECK_FALSE(s.db.contains(second));
    s.db.template remove<TestType, by_key>(1U);
    CHECK(s.count() == 0);
    CHECK_THROWS_AS(s.db.remove(second), not_found_error);
    CHECK_THROWS_AS((s.db.template remove<TestType, by_key>(1U)), not_found_error);
    CHECK_THROWS_AS(s.db.modify(second, [](TestType&) {}), not_found_error);
}

TEMPLATE_TEST_CASE("get_or_create makes an object once, with the key that was asked for", "", item,
                   card) {
    one_type<TestType> s;
    const auto make = [&](std::uint32_t key, std::uint32_t given) -> const TestType& {
        return s.db.template get_or_create<TestType, by_key>(
            key, [&](TestType& one) { one.key = given; });
    };
    const TestType& made = make(5, 5);
    CHECK(&make(5, 77) == &made); // exists, so it is not initialised
    const snapshot before = s.now();
    CHECK_THAT(message_of<usage_error>([&] { make(6, 7); }), Contains("(6)") && Contains("(7)"));
    CHECK(s.now() == before);
}

TEMPLATE_TEST_CASE("many are removed as one operation: all or none", "", item, card) {
    one_type<TestType> s;
    for (std::uint32_t k = 0; k < 20; ++k)
        s.add(k, k % 3);
    const snapshot begin = s.now();
    {
        auto session = s.db.start_session();
        CHECK(s.db.template remove_if<TestType>([](const TestType& one) { return 5 > one.key; }) ==
              5);
        CHECK(s.count() == 15);
        CHECK(s.db.remove_all(s.db.template view<TestType, by_group>().equal_range(1U)) == 5);
        CHECK(s.db.template count<TestType, by_group>(1U) == 0);
        CHECK(s.db.remove_all(s.db.template objects<TestType>().between(id<TestType>(10),
                                                                        id<TestType>(12))) == 1);
    }
    CHECK(s.now() == begin);
    CHECK_THROWS_AS(s.db.template remove_if<TestType>([](const TestType& one) -> bool {
        if (one.key == 7) throw 7;
        return true;
    }),
                    int);
    const std::vector<TestType> elsewhere(1); // not an object of this database
    CHECK_THROWS_AS(s.db.remove_all(elsewhere), usage_error);
    CHECK(s.now() == begin);
}

TEST_CASE("ids are walked both ways and within bounds") {
    one_type<item> s;
    for (std::uint32_t k = 0; k < 10; ++k)
        s.add(k);
    for (const std::uint32_t gone : {0U, 3U, 4U, 9U})
        s.db.remove(id<item>(gone));
    const auto all = s.db.objects<item>();
    CHECK(ids_of(all) == std::vector<std::uint32_t>{1, 2, 5, 6, 7, 8});
    std::vector<std::uint32_t> backward;
    for (auto at = all.rbegin(); at != all.rend(); ++at)
        backward.push_back(at->id.value);
    CHECK(backward == std::vector<std::uint32_t>{8, 7, 6, 5, 2, 1});
    CHECK(ids_of(all.between(id<item>(2), id<item>(7))) == std::vector<std::uint32_t>{2, 5, 6});
    CHECK(ids_of(all.between(id<item>(7), id<item>(2))).empty());
    CHECK(all.lower_bound(id<item>(3))->id.value == 5);
    CHECK(all.upper_bound(id<item>(5))->id.value == 6);
    CHECK(all.upper_bound(id<item>(8)) == all.end());
    CHECK(all.upper_bound(id<item>(UINT32_MAX)) == all.end());
}

TEST_CASE("an iterator of one key leads to the object in another") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 10; ++k)
        s.add(k, 10 - k);
    const auto groups = s.db.view<card, by_group>();
    const auto ids = s.db.objects<card>();
    CHECK(ids.iterator_to(*s.at(4))->key == 4);
    CHECK(ids_of(s.db.view<card, by_key>()).size() == 10);
    one_type<item> t;
    for (std::uint32_t k = 0; k < 10; ++k)
        t.add(k, 10 - k);
    const auto by_groups = t.db.view<item, by_group>();
    const auto by_keys = t.db.view<item, by_key>();
    CHECK(by_groups.project(by_keys, by_keys.lower_bound(9U)) == by_groups.begin());
    CHECK(by_groups.project(by_keys, by_keys.end()) == by_groups.end());
    CHECK(by_keys.project(t.db.objects<item>(), t.db.objects<item>().begin()) == by_keys.begin());
    CHECK(t.db.objects<item>().project(by_keys, by_keys.begin())->id == by_keys.begin()->id);
    CHECK(t.db.objects<item>().project(by_keys, by_keys.end()) == t.db.objects<item>().end());
    CHECK(groups.size() == 10);
}

TEST_CASE("a hashed key is walked from begin to end, each object once") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 500; ++k)
        s.add(k, k % 7);
    for (std::uint32_t k = 0; k < 500; k += 3)
        s.db.remove(*s.at(k));
    const auto each_once = [&](const auto& view) {
        std::vector<std::uint32_t> ids = ids_of(view);
        std::ranges::sort(ids);
        return std::ranges::equal(ids, ids_of(s.db.objects<card>()));
    };
    CHECK(each_once(s.db.view<card, by_key>()));
    CHECK(each_once(s.db.view<card, by_group>()));
    one_type<card> empty;
    CHECK(empty.db.view<card, by_group>().begin() == empty.db.view<card, by_group>().end());
}

TEST_CASE("find_many finds what find does") {
    one_type<card> s;
    random_source random(test_seed(11));
    for (std::uint32_t k = 0; k < 300; ++k)
        s.add(k, k % 7);
    for (const std::size_t count : {0U, 1U, 7U, 8U, 16U, 17U, 200U}) {
        std::vector<std::uint32_t> keys;
        std::vector<std::tuple<std::uint32_t>> tuples;
        for (std::size_t i = 0; i < count; ++i) {
            keys.push_back(static_cast<std::uint32_t>(random.below(400)));
            tuples.emplace_back(keys.back());
        }
        std::vector<const card*> found(count);
        std::vector<const card*> by_tuple(count);
        s.db.find_many<card, by_key>(keys, found);
        s.db.find_many<card, by_key>(tuples, by_tuple);
        CHECK(found == by_tuple);
        std::vector<const card*> in_threads(count);
        detail::find_in_threads(s.db.view<card, by_key>(), tuples, std::span(in_threads));
        CHECK(in_threads == found);
        for (std::size_t i = 0; i < count; ++i)
            CHECK(found[i] == s.at(keys[i]));
    }
    const std::vector<std::int64_t> no_keys{-1, std::int64_t{1} << 40, 3}; // but for the last
    std::vector<const card*> found(no_keys.size());
    s.db.find_many<card, by_key>(no_keys, found);
    const std::vector<std::uint32_t> two = {1, 2};
    CHECK_THROWS_AS((s.db.find_many<card, by_key>(two, std::span(found).first(1))), usage_error);
    CHECK(found == std::vector<const card*>{nullptr, nullptr, s.at(3)});
}

TEST_CASE("find_many by an ordered or ranked key finds the first object that find does") {
    one_type<ticket> s;
    random_source random(test_seed(12));
    const std::vector<std::uint32_t> in_an_empty_tree = {1, 2};
    std::vector<const ticket*> found(in_an_empty_tree.size());
    s.db.find_many<ticket, by_key>(in_an_empty_tree, found);
    CHECK(found == std::vector<const ticket*>{nullptr, nullptr});
    for (std::uint32_t k = 0; k < 300; ++k)
        s.add(2 * k, k % 7);
    const auto check = [&]<typename Tag>(std::type_identity<Tag>, std::size_t count,
                                         std::uint32_t end) {
        std::vector<std::int64_t> keys;
        std::vector<std::tuple<std::uint32_t>> tuples;
        for (std::size_t i = 0; i < count; ++i) {
            keys.push_back(static_cast<std::int64_t>(random.below(end)));
            tuples.emplace_back(static_cast<std::uint32_t>(keys.back()));
        }
        if (count > 4) keys[4] = -1; // no value of the part
        std::vector<const ticket*> found(count);
        std::vector<const ticket*> by_tuple(count);
        s.db.find_many<ticket, Tag>(keys, found);
        s.db.find_many<ticket, Tag>(tuples, by_tuple);
        std::vector<const ticket*> in_threads(count);
        detail::find_in_threads(s.db.view<ticket, Tag>(), keys, std::span(in_threads));
        CHECK(in_threads == found);
        in_threads.assign(count, nullptr);
        const std::size_t done =
            detail::find_while_few_miss(s.db.view<ticket, Tag>(), keys, std::span(in_threads));
        CHECK(done <= count);
        detail::find_in_threads(s.db.view<ticket, Tag>(), keys, std::span(in_threads), done);
        CHECK(in_threads == found);
        find_together(s.db.view<ticket, Tag>(), keys, std::span(in_threads));
        CHECK(in_threads == found);
        for (std::size_t i = 0; i < count; ++i) {
            CHECK(found[i] == s.db.find<ticket, Tag>(keys[i]));
            CHECK(by_tuple[i] == s.db.find<ticket, Tag>(std::get<0>(tuples[i])));
        }
    };
    for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 33U, 200U}) {
        check(std::type_identity<by_key>(), count, 610);
        check(std::type_identity<by_group>(), count, 9);
        check(std::type_identity<by_value>(), count, 5);
    }
    CHECK_THROWS_AS((s.db.find_many<ticket, by_key>(in_an_empty_tree, std::span(found).first(1))),
                    usage_error);
}

TEST_CASE("find_many meets links that lead in a circle with an error") {
    one_type<ticket> s;
    for (std::uint32_t k = 10; k < 20; ++k)
        s.add(k);
    // The links of by_key, the last key, come first before the object: parent, left, right.
    const auto* first = reinterpret_cast<const std::byte*>(s.at(10));
    auto* const words = reinterpret_cast<std::int32_t*>(const_cast<std::byte*>(first) -
                                                        object_layout<ticket>::link_bytes);
    const std::int32_t no_child = words[1];
    words[1] = words[0] >> 1; // its parent is its child
    const std::vector<std::uint32_t> keys = {19, 5};
    std::vector<const ticket*> found(keys.size());
    CHECK_THROWS_AS((s.db.find_many<ticket, by_key>(keys, found)), damaged_error);
    words[1] = no_child;
    s.db.find_many<ticket, by_key>(keys, found);
    CHECK(found == std::vector<const ticket*>{s.at(19), nullptr});
}

TEST_CASE("changes tells all types from one reading of the log") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<item>("item");
    db.add_type<card>("card");
    db.create<item>([](item& one) { one.key = 1; });
    auto session = db.start_session();
    db.modify(db.get(id<item>(0)), [](item& one) { one.value = 3; });
    db.create<card>([](card& one) { one.key = 2; });
    db.remove(db.create<card>([](card& one) { one.key = 3; })); // created and removed
    const state_changes all = db.changes(session.revision());
    CHECK(all.size() == 2);
    REQUIRE(all.of<item>().size() == 1);
    CHECK(all.of<item>()[0].kind == change_kind::modified);
    REQUIRE(all.of<card>().size() == 1);
    CHECK(all.of<card>()[0].kind == change_kind::created);
}

TEST_CASE("a disabled session does nothing, whatever is called") {
    one_type<item> s;
    s.add(1);
    auto kept = s.db.start_session(true);
    {
        auto none = s.db.start_session(false);
        CHECK_FALSE(none.active());
        CHECK(none.revision() == s.db.revision());
        s.add(2);
        none.undo();
        none.push();
        none.squash();
    }
    CHECK(s.count() == 2);
    kept.undo();
    CHECK(s.count() == 1);
}

TEST_CASE("a database moves with its sessions, and what it leaves is closed") {
    const scratch_folder folder;
    database first(folder / "state", quick_options());
    first.add_type<item>("item");
    const item& made = first.create<item>([](item& one) { one.key = 1; });
    auto session = first.start_session();
    first.modify(made, [](item& one) { one.value = 5; });
    database second(std::move(first));
    CHECK(&second.get(id<item>(0)) == &made);
    CHECK(made.value == 5);
    session.undo();
    CHECK(made.value == 0);
    CHECK_THAT(message_of<usage_error>([&] { used = first.count<item>(); }),
               Contains("moved from"));
    CHECK_THAT(message_of<usage_error>([&] { (void)first.start_session(); }),
               Contains("moved from"));
    CHECK_THAT(message_of<usage_error>([&] { (void)first.revision(); }), Contains("moved from"));
    first.close();
    first.abandon();
    database other(folder / "other", quick_options());
    other = std::move(second);
    CHECK(other.count<item>() == 1);
    CHECK(database(folder / "other", quick_options()).opened().how == opening::way::attached);
    other.close();
    CHECK(database(folder / "state", quick_options()).opened().how == opening::way::attached);
}

TEST_CASE("calls after close() say that the state was closed") {
    one_type<item> s;
    const item& made = s.add(1);
    std::optional<database> taken;
    if (GENERATE(true, false)) { // a database that was moved from is closed
        taken.emplace(std::move(s.db));
        CHECK_THAT(message_of<usage_error>([&] { (void)s.db.opened(); }), Contains("moved from"));
        CHECK_THROWS_AS(s.db.memory(), usage_error);
        CHECK_THROWS_AS(s.db.state(), usage_error);
        CHECK_THROWS_AS(s.db.segment_folder(), usage_error);
        CHECK_THROWS_AS(s.db.is_writable(), usage_error);
        CHECK_THROWS_AS(s.db.has_type("item"), usage_error);
        CHECK_THROWS_AS(s.db.checkpoints(), usage_error);
        CHECK_THROWS_AS(s.db.sync_before_checkpoints({}), usage_error);
        CHECK_THROWS_AS(s.db.revision(), usage_error);
        CHECK_THROWS_AS(s.db.committed_revision(), usage_error);
    } else {
        s.db.close();
    }
    const auto says_closed = [](auto&& call) {
        CHECK_THAT(message_of<usage_error>(call), Contains("was closed"));
    };
    says_closed([&] { s.add(2); });
    says_closed([&] { s.db.undo_all(); });
    says_closed([&] { s.db.squash(); });
    says_closed([&] { s.db.clear<item>(); });
    says_closed([&] { (void)s.db.changes(1); });
    says_closed([&] { (void)s.db.statistics(); });
    says_closed([&] { (void)s.db.find(id<item>(0)); });
    says_closed([&] { (void)s.db.find<item, by_key>(1U); });
    says_closed([&] { s.db.modify(made, [](item&) {}); });
    says_closed([&] { s.db.remove(made); });
    says_closed([&] { (void)s.db.start_session(); });
    says_closed([&] { s.db.undo(); });
    says_closed([&] { s.db.commit(1); });
    says_closed([&] { s.db.compact(); });
    says_closed([&] { s.db.add_type<ticket>("ticket"); });
    says_closed([&] { (void)s.db.types(); });
    says_closed([&] { s.db.make_checkpoint(); });
    says_closed([&] { s.db.wait_until_durable(); });
    says_closed([&] { s.db.with_read_lock([] {}); });
    says_closed([&] { s.db.with_write_lock([] {}); });
    s.db.close(); // does nothing the second time
}

TEST_CASE("a lock within a lock of one thread is named, and not waited for") {
    one_type<item> s;
    const auto nested = [&](auto&& outer, auto&& inner) {
        return message_of<usage_error>([&] { outer([&] { inner([] {}); }); });
    };
    const auto read = [&](auto&& work) { s.db.with_read_lock(work); };
    const auto write = [&](auto&& work) { s.db.with_write_lock(work); };
    CHECK_THAT(nested(read, read), Contains("with_read_lock within with_read_lock"));
    CHECK_THAT(nested(read, write), Contains("with_write_lock within with_read_lock"));
    CHECK_THAT(nested(write, read), Contains("with_read_lock within with_write_lock"));
    CHECK_THAT(nested(write, write), Contains("with_write_lock within with_write_lock"));
    one_type<item> other;
    s.db.with_read_lock([&] { other.db.with_write_lock([&] { other.add(1); }); });
    s.db.with_write_lock([&] { s.add(1); });
}

TEST_CASE("check_locks refuses a call without the lock that it needs") {
    const scratch_folder folder;
    open_options how = quick_options();
    how.check_locks = true;
    database db(folder / "state", how);
    db.add_type<item>("item");
    const auto add = [&] { return db.create<item>([](item& one) { one.key = 1; }).id; };
    CHECK_THAT(message_of<usage_error>([&] { add(); }), Contains("with_write_lock"));
    CHECK_THAT(message_of<usage_error>([&] { db.with_read_lock([&] { add(); }); }),
               Contains("with_write_lock"));
    CHECK_THAT(message_of<usage_error>([&] { used = db.count<item>(); }),
               Contains("with_read_lock or with_write_lock"));
    const auto made = db.with_write_lock(add);
    CHECK(db.with_read_lock([&] { return db.get(made).key; }) == 1);
    CHECK(db.with_write_lock([&] { return db.get(made).key; }) == 1);
}

TEST_CASE("types tells every registered type with its objects and bytes") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<item>("item");
    db.add_type<card>("card");
    db.create<card>([](card& one) { one.key = 3; });
    const auto all = db.types();
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "item");
    CHECK(all[0].objects == 0);
    CHECK(all[1].objects == 1);
    CHECK(all[1].total().total > 0);
}

TEST_CASE("a type that is added while something can be undone stays; its objects are undone") {
    one_type<item> s;
    auto block = s.db.start_session();
    s.add(1);
    s.db.add_type<card>("card");
    s.db.create<card>([](card& one) { one.key = 1; });
    block.push();
    auto next = s.db.start_session();
    s.db.create<card>([](card& one) { one.key = 2; });
    s.db.modify<card, by_key>(1U, [](card& one) { one.value = 4; });
    next.undo();
    CHECK(s.db.get<card, by_key>(1U).value == 0);
    CHECK(s.db.count<card>() == 1);
    s.db.undo();
    CHECK(s.db.count<card>() == 0);
    CHECK(s.count() == 0);
    CHECK(s.db.next_id<card>().value == 0);
    CHECK(s.db.create<card>([](card& one) { one.key = 2; }).id.value == 0);
}
