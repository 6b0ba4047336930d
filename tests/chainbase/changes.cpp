// What changes() tells of a session.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/sample_types.hpp>

#include <map>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

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
        for (auto& one : db.changes<post>(revision))
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
    s.add("e", "new"); // in the slot of b
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
    CHECK(s.since(2).empty()); // what failed is no change
    next.undo();
    CHECK(s.since(1).size() == 2);
}
