// Sessions: nested, squashed, pushed, committed; their changes; two states side by side.

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/sample_types.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

// The contract of sessions and revisions.

TEST_CASE("revisions count sessions") {
    one_type<item> s;
    CHECK(s.db.revision() == 0);
    auto one = s.db.start_session();
    CHECK(one.revision() == 1);
    auto two = s.db.start_session();
    CHECK(two.revision() == 2);
    CHECK(s.db.revision() == 2);
    two.squash();
    CHECK(s.db.revision() == 1);
    one.push();
    CHECK(s.db.revision() == 1);
    CHECK(s.db.committed_revision() == 0);
    s.db.commit(1);
    CHECK(s.db.committed_revision() == 1);
    s.db.start_session().undo();
    CHECK(s.db.revision() == 1);
}

TEST_CASE("the revision is set only when nothing can be undone") {
    one_type<item> s;
    s.db.set_revision(1'000'000);
    CHECK(s.db.revision() == 1'000'000);
    auto session = s.db.start_session();
    CHECK(session.revision() == 1'000'001);
    CHECK_THROWS_AS(s.db.set_revision(5), usage_error);
    session.push();
    CHECK_THROWS_AS(s.db.set_revision(5), usage_error);
    s.db.commit(1'000'001);
    s.db.set_revision(1'000'007);
    CHECK(s.db.start_session().revision() == 1'000'008);
    CHECK(s.db.revision() == 1'000'007);
}

TEST_CASE("the revision is never set back, nor to where the next ones would wrap") {
    constexpr revision_number most = revision_number{1} << 62;
    one_type<item> s;
    s.db.set_revision(7);
    s.db.set_revision(7);
    for (const revision_number to :
         {revision_number{6}, revision_number{-3}, std::numeric_limits<revision_number>::min(),
          std::numeric_limits<revision_number>::max(), most + 1}) {
        const std::string said = message_of<usage_error>([&] { s.db.set_revision(to); });
        CHECK_THAT(said, Contains("set_revision(" + std::to_string(to) + ")") &&
                             Contains("at revision 7") &&
                             Contains("from 7 to " + std::to_string(most)));
        CHECK(s.db.revision() == 7);
    }
    s.db.set_revision(most);
    s.db.start_session().push();
    CHECK(s.db.revision() == most + 1);
    s.db.commit(s.db.revision());
    CHECK_THROWS_AS(s.db.set_revision(s.db.revision()), usage_error);
}

TEST_CASE("squashing the only session keeps its changes for good") {
    one_type<item> s;
    auto session = s.db.start_session();
    s.add(1);
    session.squash();
    CHECK(s.db.revision() == 0);
    CHECK(s.db.committed_revision() == 0);
    CHECK_THROWS_AS(s.db.undo(), usage_error);
    s.db.undo_all();
    CHECK(s.at(1) != nullptr);
    const snapshot before = s.now();
    {
        auto next = s.db.start_session();
        s.db.remove(*s.at(1));
    }
    CHECK(s.now() == before);
}

TEST_CASE("changes of squashed sessions are undone with the one below") {
    one_type<item> s;
    const item& a = s.add(1);
    const snapshot before = s.now();
    {
        auto outer = s.db.start_session();
        s.db.modify(a, [](item& t) { t.value = 1; });
        for (std::uint32_t i = 2; i < 6; ++i) {
            auto inner = s.db.start_session();
            s.db.modify(a, [&](item& t) { t.value = i; });
            s.set_key(a, i * 10);
            s.add(i);
            inner.squash();
        }
        CHECK(a.value == 5);
    }
    CHECK(s.now() == before);
}

TEST_CASE("committing in the middle keeps what is above undoable") {
    one_type<item> s;
    std::vector<snapshot> at;
    for (std::uint32_t i = 1; i <= 6; ++i) {
        auto session = s.db.start_session();
        s.add(i);
        if (i > 1) s.set_key(*s.at(i - 1), 100 + i);
        if (i > 2) s.db.remove(*s.at(100 + i - 1));
        session.push();
        at.push_back(s.now());
    }
    s.db.commit(3);
    CHECK(s.db.committed_revision() == 3);
    CHECK(s.now() == at[5]);
    for (std::size_t i = 5; i > 2; --i) {
        s.db.undo();
        CHECK(s.now() == at[i - 1]);
    }
    CHECK_THROWS_AS(s.db.undo(), usage_error);
    CHECK(s.db.revision() == 3);
    s.db.commit(3);
    s.db.commit(100);
    CHECK(s.db.revision() == 3);
}

TEST_CASE("an open session cannot be committed, those below it can") {
    one_type<item> s;
    auto one = s.db.start_session();
    s.add(1);
    CHECK_THROWS_AS(s.db.commit(1), usage_error);
    one.push();
    auto two = s.db.start_session();
    s.add(2);
    CHECK_THROWS_AS(s.db.commit(2), usage_error);
    CHECK(s.db.committed_revision() == 0);
    s.db.commit(1);
    CHECK(s.db.committed_revision() == 1);
    two.undo();
    CHECK(s.at(1) != nullptr);
    CHECK(s.at(2) == nullptr);
}

TEST_CASE("undo_all goes back to the last commit") {
    one_type<item> s;
    for (std::uint32_t i = 1; i <= 4; ++i) {
        auto session = s.db.start_session();
        s.add(i);
        session.push();
    }
    s.db.commit(2);
    auto open = s.db.start_session();
    s.add(9);
    s.db.undo_all();
    CHECK(s.db.revision() == 2);
    CHECK(s.db.count<item>() == 2);
}

TEST_CASE("a session guard undoes what it still holds when it goes") {
    one_type<item> s;
    {
        session first = s.db.start_session();
        s.add(1);
        session moved = std::move(first);
        CHECK(!first.active());
        CHECK(moved.active());
    }
    CHECK(s.db.count<item>() == 0);
    auto outer = s.db.start_session();
    s.add(1);
    auto inner = s.db.start_session();
    s.add(2);
    outer.undo(); // undoes the nested one, too
    CHECK(s.db.revision() == 0);
    inner.undo();
    CHECK(s.db.revision() == 0);
    CHECK(s.db.count<item>() == 0);
}

TEST_CASE("a guard that its database was closed or abandoned under does nothing") {
    const bool is_closed = GENERATE(false, true);
    one_type<item> s;
    s.add(1);
    session guard = s.db.start_session();
    s.add(2);
    if (is_closed) {
        s.db.undo();
        s.db.close();
    } else {
        s.db.abandon();
    }
    database again(s.folder / "state", quick_options());
    again.add_type<item>("thing");
    session of_the_same_revision = again.start_session();
    again.create<item>([](item& object) { object.key = 3; });
    const int how = GENERATE(0, 1, 2);
    if (how == 0) guard.undo();
    if (how == 1) guard.push();
    if (how == 2) guard.squash();
    CHECK(!guard.active());
    CHECK(again.count<item>() == 2);
    CHECK(of_the_same_revision.revision() == again.revision());
    of_the_same_revision.undo();
    CHECK(again.count<item>() == 1);
}

TEST_CASE("a session pushed within another is kept with it and undone with it") {
    one_type<item> s;
    for (const bool keep : {false, true}) {
        auto outer = s.db.start_session();
        s.add(1);
        auto inner = s.db.start_session();
        s.add(2);
        inner.push();
        if (keep)
            outer.push();
        else
            outer.undo();
        CHECK(s.db.count<item>() == (keep ? 2 : 0));
        CHECK(s.db.revision() == (keep ? 2 : 0));
    }
    s.db.commit(1);
    s.db.undo();
    CHECK(s.db.count<item>() == 1);
}

TEST_CASE("what was pushed is undoable after opening again, what was not is gone") {
    const scratch_folder folder;
    for (const bool inner_too : {false, true}) {
        const auto state = folder / (inner_too ? "nested" : "flat");
        open_options options = quick_options();
        options.sync = inner_too;
        {
            database db(state, options);
            db.add_type<item>("thing");
            auto outer = db.start_session();
            db.create<item>([](item& t) { t.key = 1; });
            if (inner_too) {
                auto inner = db.start_session();
                db.create<item>([](item& t) { t.key = 2; });
                inner.push();
            }
            outer.push();
            // Intentionally left open: the process may end at any point.
            static auto& left_open = *new std::vector<session>;
            left_open.push_back(db.start_session());
            db.create<item>([](item& t) { t.key = 3; });
        }
        {
            database reader(state, quick_options(open_mode::read_only));
            reader.add_type<item>("thing");
            CHECK(reader.count<item>() == (inner_too ? 2 : 1));
            CHECK(reader.revision() == (inner_too ? 2 : 1));
        }
        database db(state, options);
        db.add_type<item>("thing");
        CHECK(db.count<item>() == (inner_too ? 2 : 1));
        CHECK(db.revision() == (inner_too ? 2 : 1));
        db.undo_all();
        CHECK(db.count<item>() == 0);
    }
}

TEST_CASE("a hot object costs log once per session") {
    one_type<item> s;
    const item& a = s.add(1);
    const undo_log& log = *s.db.memory().log();
    auto session = s.db.start_session();
    s.db.modify(a, [](item& t) { ++t.value; });
    const auto bytes = log.bytes_in_use();
    for (int i = 0; i < 10'000; ++i)
        s.db.modify(a, [](item& t) { ++t.value; });
    CHECK(log.bytes_in_use() == bytes);
    auto inner = s.db.start_session();
    for (int i = 0; i < 10'000; ++i)
        s.db.modify(a, [](item& t) { ++t.value; });
    CHECK(log.bytes_in_use() < bytes + 300);
    CHECK(a.value == 20'001);
    inner.undo();
    CHECK(a.value == 10'001);
    session.undo();
    CHECK(a.value == 0);
}

TEST_CASE("a thousand hot objects cost log once per session") {
    one_type<item> s;
    for (std::uint32_t k = 0; k < 1000; ++k)
        s.add(k);
    const undo_log& log = *s.db.memory().log();
    const snapshot before = s.now();
    auto session = s.db.start_session();
    const auto touch_all = [&] {
        for (const item& object : s.db.objects<item>())
            s.db.modify(object, [](item& t) { ++t.value; });
    };
    for (int round = 0; round < 20; ++round) // until the cache has its full size
        touch_all();
    const auto bytes = log.bytes_in_use();
    for (int round = 0; round < 50; ++round)
        touch_all();
    CHECK(log.bytes_in_use() - bytes < 50 * 1000 * 4);
    session.undo();
    CHECK(s.now() == before);
}

// The result of changes() for a session.

namespace {

/// A state with a few posts.
struct posts {
    posts() : db(folder / "state", quick_options()) {
        db.add_type<post>("post");
        for (const char* link : {"a", "b", "c", "d"})
            add(link, std::string(50, link[0]));
    }
    const post& add(std::string_view link, std::string_view body) {
        return db.create<post>([&](post& p) {
            p.author = std::string_view("someone");
            p.permlink = link;
            p.body = body;
        });
    }
    [[nodiscard]] const post& at(std::string_view link) const {
        return db.get<post, by_link>("someone", link);
    }
    [[nodiscard]] std::map<std::uint32_t, change<post>> since(revision_number revision) const {
        std::map<std::uint32_t, change<post>> by_id;
        for (auto& one : db.changes(revision).of<post>())
            by_id.emplace(one.id.value, std::move(one));
        return by_id;
    }
    scratch_folder folder;
    database db;
};

} // namespace

TEST_CASE("changes lists what was created, modified and removed, with what was before") {
    posts s;
    auto session = s.db.start_session();
    const std::uint32_t votes[] = {1, 2, 3};
    s.db.modify(s.at("a"), [&](post& p) {
        p.body = std::string(70'000, 'z');
        p.votes = std::span<const std::uint32_t>(votes);
    });
    s.db.modify(s.at("a"), [](post& p) { p.likes = 5; });
    s.db.remove(s.at("b"));
    s.add("e", "new"); // reuses the slot of b
    s.db.modify(s.at("e"), [](post& p) { p.body = std::string_view("newer"); });
    s.add("f", "gone again");
    s.db.remove(s.at("f"));
    s.db.modify(s.at("c"), [](post& p) { p.permlink = std::string_view("moved"); });
    s.db.remove(s.at("moved"));

    const auto changes = s.since(session.revision());
    REQUIRE(changes.size() == 4);
    const change<post>& a = changes.at(0);
    CHECK(a.kind == change_kind::modified);
    REQUIRE(a.before);
    CHECK(a.before->body.view() == std::string(50, 'a'));
    CHECK(a.before->votes.size() == 0);
    CHECK(a.before->likes == 0);
    CHECK(a.now == &s.at("a"));
    const change<post>& b = changes.at(1);
    CHECK(b.kind == change_kind::removed);
    REQUIRE(b.before);
    CHECK(b.before->permlink.view() == "b");
    CHECK(b.before->body.view() == std::string(50, 'b'));
    CHECK(b.now == nullptr);
    const change<post>& c = changes.at(2);
    CHECK(c.kind == change_kind::removed);
    CHECK(c.before->permlink.view() == "c");
    const change<post>& e = changes.at(4);
    CHECK(e.kind == change_kind::created);
    CHECK(!e.before);
    CHECK(e.now == &s.at("e"));
}

TEST_CASE("changes of a session include those of the sessions above it") {
    posts s;
    auto outer = s.db.start_session();
    s.db.modify(s.at("a"), [](post& p) { p.likes = 1; });
    auto inner = s.db.start_session();
    s.db.modify(s.at("a"), [](post& p) { p.likes = 2; });
    s.db.modify(s.at("b"), [](post& p) { p.body = std::string_view("changed"); });
    CHECK(s.since(inner.revision()).at(0).before->likes == 1);
    CHECK(s.since(outer.revision()).at(0).before->likes == 0);
    CHECK(s.since(outer.revision()).size() == 2);
    inner.squash();
    CHECK(s.since(outer.revision()).at(0).before->likes == 0);
    CHECK(s.since(outer.revision()).at(1).before->body.view() == std::string(50, 'b'));
    outer.push();
    CHECK(s.since(1).size() == 2);
    auto next = s.db.start_session();
    CHECK(s.since(2).empty());
    CHECK_THROWS_AS(s.db.modify(s.at("c"),
                                [](post& p) {
                                    p.body = std::string_view("never");
                                    throw 1;
                                }),
                    int);
    CHECK(s.since(2).empty()); // a failed operation is no change
    next.undo();
    CHECK(s.since(1).size() == 2);
}

// Several databases in one process, many types in one database.

TEST_CASE("two databases in one process do not see each other") {
    one_type<item> a;
    one_type<item> b;
    a.add(1);
    b.add(1);
    auto in_a = a.db.start_session();
    auto in_b = b.db.start_session();
    // A modifier of one database reads the other.
    b.db.modify(*b.at(1), [&](item& t) { t.value = a.at(1)->key + 4; });
    a.add(2);
    in_a.undo();
    CHECK(a.count() == 1);
    CHECK(b.at(1)->value == 5);
    in_b.squash();
    CHECK(b.at(1)->value == 5);
    CHECK(a.at(1)->value == 0);
}

TEST_CASE("undo covers types that the program did not register this time") {
    const scratch_folder folder;
    const auto count_of_cards = [&](bool undo) {
        database db(folder / "state", quick_options());
        db.add_type<card>("card");
        if (undo) db.undo_all();
        return db.count<card>();
    };
    {
        database db(folder / "state", quick_options());
        db.add_type<item>("item");
        db.add_type<card>("card");
        db.create<card>([](card&) {});
        auto block = db.start_session();
        db.create<item>([](item&) {});
        for (std::uint32_t k = 1; k < 1000; ++k)
            db.create<card>([&](card& c) { c.key = k; });
        block.push();
    }
    CHECK(count_of_cards(false) == 1000);
    {
        database db(folder / "state", quick_options());
        db.add_type<item>("item");
        CHECK(db.count<item>() == 1);
        db.undo();
        CHECK(db.count<item>() == 0);
    }
    CHECK(count_of_cards(true) == 1);
}

TEST_CASE("a type added while a session is open is empty again after undo") {
    one_type<item> s;
    auto block = s.db.start_session();
    s.add(1);
    s.db.add_type<card>("card");
    s.db.create<card>([](card&) {});
    block.undo();
    CHECK(s.count() == 0);
    CHECK(s.db.count<card>() == 0);
    s.db.create<card>([](card&) {});
    CHECK(s.db.count<card>() == 1);
}

namespace {

/// One of many types.
template <std::size_t N>
struct numbered {
    chainbase::id<numbered> id;
    std::uint32_t key = 0;

    using keys = chainbase::keys<hashed_unique<by_key, &numbered::key>>;
    BOOST_DESCRIBE_CLASS(numbered, (), (id, key), (), ())
};

template <std::size_t... N>
void with_all_types(database& db, std::index_sequence<N...>, auto&& f) {
    (f(db, static_cast<numbered<N>*>(nullptr)), ...);
}

constexpr auto sixty = std::make_index_sequence<60>();

open_options many_windows() {
    open_options options = quick_options();
    options.windows = 26 + 60 * 3;
    return options;
}

} // namespace

TEST_CASE("sixty types in one state are undone together and cost a session nothing") {
    const scratch_folder folder;
    database db(folder / "state", many_windows());
    with_all_types(db, sixty, []<std::size_t N>(database& d, numbered<N>*) {
        d.add_type<numbered<N>>("type" + std::to_string(N));
        d.create<numbered<N>>([](numbered<N>& t) { t.key = N; });
    });
    const snapshot before(db.memory());
    const auto empty = db.start_session();
    const auto in_use = db.memory().log()->bytes_in_use();
    CHECK(in_use < 100);
    {
        auto session = db.start_session();
        with_all_types(db, sixty, []<std::size_t N>(database& d, numbered<N>*) {
            d.create<numbered<N>>([](numbered<N>& t) { t.key = 1000 + N; });
            d.modify(d.get(id<numbered<N>>(0)), [](numbered<N>& t) { t.key = 2000 + N; });
        });
    }
    CHECK(snapshot(db.memory()) == before);
    with_all_types(db, sixty, []<std::size_t N>(database& d, numbered<N>*) {
        if (d.get<numbered<N>, by_key>(N).id.value != 0) FAIL("type " << N);
    });
}
