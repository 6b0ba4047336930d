// Calls at the wrong time or with names that cannot be: refused, and nothing is changed.

#include <catch2/catch.hpp>
#include <tests/failure/note.hpp>
#include <tests/failure/state_image.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct one_state {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    one_state() { db.add_type<note>("note"); }
};

} // namespace

TEST_CASE("a function that changes an object cannot call the database") {
    one_state s;
    one_state other;
    const note& n = write_note(s.db, "first", 1);
    const note& second = write_note(s.db, "second", 2);
    const note& foreign = write_note(other.db, "theirs", 1);
    const auto refused = [&](auto&& call) {
        const snapshot before(s.db.memory());
        const snapshot before_other(other.db.memory());
        CHECK_THROWS_AS(s.db.modify(n,
                                    [&](note& target) {
                                        target.title = std::string_view("changed");
                                        call();
                                    }),
                        usage_error);
        CHECK(snapshot(s.db.memory()) == before);
        CHECK(snapshot(other.db.memory()) == before_other);
    };
    refused([&] { write_note(s.db, "inner", 2); });
    for (const note* each : {&n, &second}) {
        refused([&] { s.db.modify(*each, [](note& target) { target.weight = 3; }); });
        refused([&] { s.db.remove(*each); });
    }
    refused([&] { s.db.clear<note>(); });
    refused([&] { write_note(other.db, "inner", 2); });
    refused([&] { const auto session = s.db.start_session(); });
    refused([&] { s.db.compact(); });
    refused([&] { const_cast<note&>(foreign).title = std::string_view("ours"); });
    {
        auto block = s.db.start_session();
        block.push();
        refused([&] { s.db.undo(); });
        refused([&] { s.db.squash(); });
        refused([&] { s.db.undo_all(); });
        refused([&] { s.db.commit(1); });
        CHECK(s.db.revision() == 1);
    }
    s.db.modify(n, [&](note& target) { // reading is not changing
        target.weight = s.db.get<note, by_title>("second").weight + 40;
        target.title = foreign.title.view();
    });
    CHECK(n.weight == 42);
    CHECK(s.db.find<note, by_title>("theirs") == &n);
}

TEST_CASE("a type's name is a file's name within the segment") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    const state_image before(folder.path());
    for (const char* name : {"", "..", "../note", "a/b", "/tmp/note", ".hidden", "a\nb"}) {
        INFO(name);
        CHECK_THROWS_AS(db.add_type<note>(name), usage_error);
        CHECK_THROWS_AS(db.add_type<note>(std::string(300, 'n')), usage_error);
        CHECK(state_image(folder.path()) == before);
    }
    db.add_type<note>("note");
    CHECK(write_note(db, "first", 1).id.value == 0);
}
