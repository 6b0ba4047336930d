// Invalid calls, another schema, a second writer: a typed error each, and nothing changed.

#include <catch2/catch.hpp>
#include <sched.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/chain_model.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

// Calls at the wrong time or with invalid names: refused, and nothing is changed.

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
    s.db.modify(n, [&](note& target) { // reading is allowed
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

// A state is opened with another layout of a type: refused; the message names the difference.

namespace {

struct by_other;
using two_halves = std::array<std::uint16_t, 2>;

#define VARIANT(name, members, names, ...)                                                         \
    struct name {                                                                                  \
        chainbase::id<name> id;                                                                    \
        members using keys = chainbase::keys<__VA_ARGS__>;                                         \
        BOOST_DESCRIBE_CLASS(name, (), names, (), ())                                              \
    }

#define USUAL(name) hashed_unique<by_key, &name::key>, hashed_non_unique<by_group, &name::group>

VARIANT(renamed, std::uint32_t key; std::uint32_t group; std::uint32_t amount;
        , (id, key, group, amount), USUAL(renamed));
VARIANT(retyped, std::uint32_t key; std::uint32_t group; std::int32_t value;
        , (id, key, group, value), USUAL(retyped));
VARIANT(reordered, std::uint32_t group; std::uint32_t key; std::uint32_t value;
        , (id, group, key, value), USUAL(reordered));
VARIANT(longer, std::uint32_t key; std::uint32_t group; std::uint32_t value; std::uint32_t more;
        , (id, key, group, value, more), USUAL(longer));
VARIANT(shorter, std::uint32_t key; std::uint32_t group;, (id, key, group), USUAL(shorter));
VARIANT(halved, std::uint32_t key; std::uint32_t group; two_halves value;
        , (id, key, group, value), USUAL(halved));
VARIANT(other_kind, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_non_unique<by_key, &other_kind::key>,
        hashed_non_unique<by_group, &other_kind::group>);
VARIANT(other_part, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_key, &other_part::value>,
        hashed_non_unique<by_group, &other_part::group>);
VARIANT(more_parts, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_key, &more_parts::key, &more_parts::value>,
        hashed_non_unique<by_group, &more_parts::group>);
VARIANT(other_tag, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_other, &other_tag::key>,
        hashed_non_unique<by_group, &other_tag::group>);
VARIANT(fewer_keys, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_key, &fewer_keys::key>);
VARIANT(swapped_keys, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_non_unique<by_group, &swapped_keys::group>,
        hashed_unique<by_key, &swapped_keys::key>);
VARIANT(ordered_key, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), ordered_unique<by_key, &ordered_key::key>,
        hashed_non_unique<by_group, &ordered_key::group>);

/// The message of opening with the type declared as T.
template <typename T>
std::string opening_message(const sample_state& state) {
    const state_image before(state.path);
    const std::string said = message_of<schema_error>([&] {
        database db(state.path, quick_options(open_mode::read_only));
        db.add_type<T>("thing");
    });
    CHECK(state_image(state.path) == before);
    CHECK(message_of<schema_error>([&] {
              database db(state.path, quick_options());
              db.add_type<T>("thing");
          }) == said);
    CHECK_THAT(said, Contains("thing"));
    return said;
}

} // namespace

TEST_CASE("each difference of a layout is named") {
    const sample_state state;
    CHECK_THAT(opening_message<renamed>(state),
               Contains("field") && Contains("value") && Contains("amount"));
    CHECK_THAT(opening_message<retyped>(state),
               Contains("value") && Contains("u32") && Contains("i32"));
    CHECK_THAT(opening_message<reordered>(state), Contains("key") && Contains("group"));
    CHECK_THAT(opening_message<longer>(state), Contains("more"));
    CHECK_THAT(opening_message<shorter>(state), Contains("value"));
    CHECK_THAT(opening_message<halved>(state), Contains("value") && Contains("u16[2]"));
    CHECK_THAT(opening_message<other_kind>(state),
               Contains("by_key") && Contains("hashed_non_unique"));
    CHECK_THAT(opening_message<other_part>(state), Contains("by_key") && Contains("value"));
    CHECK_THAT(opening_message<more_parts>(state), Contains("by_key") && Contains("value"));
    CHECK_THAT(opening_message<other_tag>(state), Contains("by_key") && Contains("by_other"));
    CHECK_THAT(opening_message<fewer_keys>(state), Contains("by_group"));
    CHECK_THAT(opening_message<swapped_keys>(state), Contains("by_key") && Contains("by_group"));
    CHECK_THAT(opening_message<ordered_key>(state),
               Contains("by_key") && Contains("ordered_unique"));
    CHECK_NOTHROW(state.open_and_compare());
}

// One writer at a time; any number of readers beside it.

TEST_CASE("a second writer in the same process is refused and changes nothing") {
    const sample_state state;
    const database first(state.path, quick_options());
    const state_image before(state.path);
    const std::string said =
        message_of<locked_error>([&] { database second(state.path, quick_options()); });
    CHECK_THAT(said, Contains(std::to_string(getpid())));
    CHECK(state_image(state.path) == before);
}

TEST_CASE("a second writer in another process is refused until the first one is gone") {
    const sample_state state;
    const auto told = shared_progress();
    const pid_t first = fork_process([&] {
        const database db(state.path, quick_options());
        told->ready = 1;
        pause();
    });
    wait_until_ready(first, *told);
    const state_image before(state.path);
    CHECK_THAT(message_of<locked_error>([&] { database second(state.path, quick_options()); }),
               Contains(std::to_string(first)));
    CHECK(state_image(state.path) == before);
    {
        database reader(state.path, quick_options(open_mode::read_only));
        CHECK(reader.memory().has_writer());
    }
    ::kill(first, SIGKILL);
    REQUIRE(wait_for(first).killed);
    CHECK_THROWS_AS(database(state.path, quick_options(open_mode::read_only)), unclean_error);
    open_options as_it_is = quick_options(open_mode::read_only);
    as_it_is.allow_unclean = true;
    CHECK_NOTHROW(database(state.path, as_it_is));
    CHECK_NOTHROW(state.open_and_compare());
}

TEST_CASE("nobody waits for the end of a change whose writer is dead") {
    scratch_folder folder;
    const auto told = shared_progress();
    const pid_t writer = fork_process([&] {
        database db(folder / "state", quick_options());
        db.add_type<note>("note");
        db.create<note>([&](note&) {
            told->ready = 1;
            pause();
        });
    });
    wait_until_ready(writer, *told);
    ::kill(writer, SIGKILL);
    REQUIRE(wait_for(writer).killed);
    open_options as_it_is = quick_options(open_mode::read_only);
    as_it_is.allow_unclean = true;
    segment dead(folder / "state", as_it_is);
    CHECK_FALSE(segment_statistics::read(dead, std::chrono::hours(1)).consistent);
}

TEST_CASE("of writers that start at the same time one wins") {
    const sample_state state;
    for (int round = 0; round < 40; ++round) {
        const auto told = shared_progress();
        const auto race = [&] {
            while (told->ready == 0)
                sched_yield();
            try {
                database db(state.path, quick_options());
                expect(told->inside.fetch_add(1) == 0, "two writers at a time");
                told->begun += 1;
                usleep(5000);
                told->inside -= 1; // before the lock is released
            } catch (const locked_error&) {
                told->done += 1;
            }
        };
        const pid_t one = fork_process(race);
        const pid_t two = fork_process(race);
        told->ready = 1;
        wait_for(one);
        wait_for(two);
        CHECK(told->begun >= 1);
        CHECK(told->begun + told->done == 2);
    }
    CHECK_NOTHROW(state.open_and_compare());
}
