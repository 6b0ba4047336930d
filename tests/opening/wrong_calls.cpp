// Calls at the wrong time or with names that cannot be: refused, and nothing is changed.

#include <catch2/catch.hpp>
#include <tests/opening/note.hpp>
#include <tests/opening/sample.hpp>

using namespace chainbase;

namespace {

struct one_state {
    own_folder folder;
    database db{folder / "state", small_windows()};
    one_state() { db.add_type<note>("note"); }
};

} // namespace

TEST_CASE("a string is assigned within create or modify only") {
    one_state s;
    const note& n = write_note(s.db, "first", 1);
    auto& title = const_cast<shared_string&>(n.title);
    CHECK_THROWS_AS(title = std::string_view("second"), usage_error);
    CHECK(n.title.view() == "first");
    CHECK(s.db.find<note, by_title>("first") == &n);
}

TEST_CASE("a function that changes an object cannot call the database") {
    one_state s;
    one_state other;
    const note& n = write_note(s.db, "first", 1);
    const note& foreign = write_note(other.db, "theirs", 1);
    const auto refused = [&](auto&& call) {
        CHECK_THROWS_AS(s.db.modify(n,
                                    [&](note& target) {
                                        target.title = std::string_view("second");
                                        call();
                                    }),
                        usage_error);
        CHECK(n.title.view() == "first");
        CHECK(s.db.count<note>() == 1);
        CHECK(other.db.count<note>() == 1);
    };
    refused([&] { write_note(s.db, "inner", 2); });
    refused([&] { s.db.modify(n, [](note&) {}); });
    refused([&] { s.db.remove(n); });
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
    CHECK(foreign.title.view() == "theirs");
    s.db.modify(n, [](note& target) { target.title = std::string_view("second"); });
    CHECK(s.db.find<note, by_title>("second") == &n);
}

TEST_CASE("a type's name is a file's name within the segment") {
    const own_folder folder;
    database db(folder / "state", small_windows());
    const folder_content before = content_of(folder.path());
    for (const char* name : {"", "..", "../note", "a/b", "/tmp/note", ".hidden", "a\nb"}) {
        INFO(name);
        CHECK_THROWS_AS(db.add_type<note>(name), usage_error);
        CHECK_THROWS_AS(db.add_type<note>(std::string(300, 'n')), usage_error);
        CHECK(content_of(folder.path()) == before);
    }
    db.add_type<note>("note");
    CHECK(write_note(db, "first", 1).id.value == 0);
}
