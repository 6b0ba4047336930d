#include <archive/open_archive.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/tools/temporary_folder.hpp>

/// Two types in one archive, whose objects have equal ids and equal keys.
using namespace chainbase;
using namespace chainbase::test;

namespace {

struct by_name;

/// Has the key of a note, byte by byte.
struct memo {
    chainbase::id<memo> id;
    fixed_string<16> author;
    shared_string title;
    std::uint32_t pages = 0;

    using keys = chainbase::keys<ordered_unique<by_name, &memo::author, &memo::title>>;
    using archived_by = archive::tags<by_name>;
};
BOOST_DESCRIBE_STRUCT(memo, (), (id, author, title, pages))

constexpr int of_each = 20;

struct both {
    database state;
    std::unique_ptr<archive::store> rows;
    notes all_notes;
    archive::lifecycle<memo> all_memos;

    both(const std::filesystem::path& folder, archive::store_kind kind)
        : state(folder, small_state()),
          rows(archive::open_archive(state, folder / "archive", kind)),
          all_notes((state.add_type<note>("note"), state), *rows, "note"),
          all_memos((state.add_type<memo>("memo"), state), *rows, "memo") {}
};

const memo& write_memo(database& state, const std::string& title, std::uint32_t pages) {
    return state.create<memo>([&](memo& one) {
        one.author = "alice";
        one.title = title;
        one.pages = pages;
    });
}

} // namespace

TEST_CASE("two types whose objects have equal ids and keys do not meet") {
    const auto kind = GENERATE(archive::store_kind::rocksdb, archive::store_kind::memory);
    const temporary_folder folder;
    {
        both made(folder / "state", kind);
        for (int n = 0; n < of_each; ++n) {
            made.all_notes.retire(write(made.state, "alice", std::to_string(n), n));
            made.all_memos.retire(
                write_memo(made.state, std::to_string(n), static_cast<std::uint32_t>(1000 + n)));
        }
        const revision_number now = made.state.committed_revision();
        CHECK(made.all_notes.hand_over(now) == of_each);
        CHECK(made.all_memos.hand_over(now, of_each / 2) == of_each / 2);
        made.rows->sync();
        made.state.close();
    }
    both opened(folder / "state", kind);
    opened.all_notes.remove(id<note>(3));
    for (int n = 0; n < of_each; ++n) {
        const auto as_note = opened.all_notes.find<by_title>("alice", std::to_string(n));
        const auto as_memo = opened.all_memos.find<by_name>("alice", std::to_string(n));
        CHECK(as_note.has_value() == (n != 3));
        if (as_note) CHECK(as_note->get<&note::weight>() == n);
        REQUIRE(as_memo);
        CHECK(as_memo->get<&memo::pages>() == static_cast<std::uint32_t>(1000 + n));
        CHECK(as_memo->in_memory() == (n >= of_each / 2));
    }
    CHECK_THROWS_AS(opened.all_memos.create([](memo& one) {
        one.author = "alice";
        one.title = "3";
    }),
                    duplicate_key_error);
    CHECK_NOTHROW(opened.all_notes.create([](note& one) {
        one.author = "alice";
        one.title = "3";
    }));
}
