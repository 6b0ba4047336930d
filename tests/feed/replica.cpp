// A state that copies another one from its feed is the same: objects, ids, what can be undone.

#include <archive/lifecycle.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/feed/replica.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/world.hpp>
#include <tests/feed/told_objects.hpp>
#include <tests/snapshots/sample_chain.hpp>
#include <tests/support/block_walk.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/world.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;
using feed::entry;
using feed::log_reader;
using feed::object_change;
using feed::replica;

namespace {

/// The id that the next object of each type gets, in the order of the types.
std::vector<entry::next_id> next_ids_of(const mapped_segment& state) {
    std::vector<entry::next_id> all;
    for (std::uint32_t type = 0; type < state.windows().size(); ++type) {
        const type_windows& from = *state.windows()[type];
        const rows::slot_reader objects(state.types().entries()[type].schema, *from.objects,
                                        *from.ids);
        all.push_back({type, objects.next_id()});
    }
    return all;
}

void check_same(const mapped_segment& one, const mapped_segment& other) {
    expect(records_of(one) == records_of(other), "other objects");
    const auto ids = next_ids_of(one);
    const auto other_ids = next_ids_of(other);
    for (std::size_t type = 0; type < ids.size(); ++type)
        expect(ids[type].id == other_ids[type].id, "another next id");
}

/// All objects of a state, as an entry of its revision.
entry all_of(const mapped_segment& state, revision_number revision) {
    entry all{entry::kind::block, revision, 0, {}, {}, next_ids_of(state)};
    for (const auto& [object, record] : records_of(state)) {
        const std::size_t begin = all.content.size();
        archive::append(all.content, record);
        all.changes.push_back({object.first, object.second, object_change::kind::created, begin,
                               begin, all.content.size()});
    }
    return all;
}

template <typename T>
void add(database& to, replica& by, const char* name) {
    to.add_type<T>(name);
    by.add<T>(name);
}

/// A copy of a state of the sample types, which begins at its newest block.
class sample_copy {
public:
    explicit sample_copy(database& of)
        : of_(of), reader_(of.state()), own_(folder_ / "copy", quick_options()), by_(own_) {
        add<account>(own_, by_, "account");
        add<post>(own_, by_, "post");
        add<stake>(own_, by_, "stake");
        if (of.has_type("marker")) {
            add<marker>(own_, by_, "marker");
            add<token>(own_, by_, "token");
            add<label>(own_, by_, "label");
            add<holding>(own_, by_, "holding");
        }
        own_.set_revision(reader_.revision());
        by_.apply(all_of(of.memory(), reader_.revision()), reader_.types());
        check();
    }

    /// Applies what there is.
    void follow() {
        for (entry one; reader_.next(one);) {
            by_.apply(one, reader_.types());
            pops += one.what == entry::kind::pop;
            ++told;
        }
    }
    /// Requires that all was followed.
    void check() {
        check_same(of_.memory(), own_.memory());
        expect(own_.revision() == of_.revision(), "another revision");
        if (own_.has_type("marker")) check_keys_of(own_);
    }
    [[nodiscard]] database& own() noexcept { return own_; }

    std::uint64_t told = 0, pops = 0;

private:
    database& of_;
    log_reader reader_;
    scratch_folder folder_;
    database own_;
    replica by_;
};

/// Notes, and their archive: objects of the state, or not.
struct noted {
    scratch_folder folder;
    database state{folder / "state", small_state()};
    std::unique_ptr<archive::store> rows;
    notes all;

    explicit noted(bool is_of_the_state)
        : rows(store(is_of_the_state)), all(state, *rows, "note") {}

    [[nodiscard]] std::unique_ptr<archive::store> store(bool is_of_the_state) {
        state.add_type<note>("note");
        if (is_of_the_state) return std::make_unique<archive::memory_store>(state);
        return std::make_unique<heap_store>();
    }
};

} // namespace

TEST_CASE("a copy is what the followed state is, and so is a copy of the copy, through forks") {
    std::uint64_t told = 0, pops = 0;
    std::uint64_t seed = test_seed(920);
    for (const std::uint32_t objects : {10, 100}) {
        const scratch_folder folder;
        walk_options options;
        options.changes = {.objects = objects, .spread = 3};
        options.refusals_watched = 0;
        options.verify = false;
        world w(folder / "state", options);
        random_source random(seed++);
        w.fill(random);
        w.start();
        w.push();
        w.commit(1);
        sample_copy copy(w.db());
        sample_copy second(copy.own());
        for (std::uint64_t block = 0; block < test_operations(30'000) / 30; ++block) {
            apply_block(w, random, [&] {
                if (random.chance(500)) copy.follow();
            });
            if (w.depth() > 1 && random.chance(100)) { // merged into a block that was told
                copy.follow();
                w.start();
                w.change_unchecked(random);
                w.squash();
            }
            copy.follow();
            copy.check();
            if (random.chance(700)) {
                second.follow();
                second.check();
            }
        }
        second.follow();
        second.check();
        expect(copy.own().committed_revision() == w.db().committed_revision(),
               "other blocks can be undone");
        copy.own().undo_all();
        while (w.depth() != 0)
            w.undo();
        check_same(w.db().memory(), copy.own().memory());
        told += copy.told;
        pops += copy.pops;
    }
    WARN(told << " entries, " << pops << " pops");
    CHECK(pops > test_operations(30'000) / 1'000);
}

TEST_CASE("objects of a block exchange the values of unique keys") {
    chain c;
    c.fill(6);
    sample_copy copy(c.db);
    sample_copy second(copy.own());
    c.block([&] {
        const auto rename = [&](std::uint32_t object, const char* to, std::uint64_t number) {
            c.db.modify(id<account>(object), [&](account& it) {
                it.name = to;
                it.number = number;
            });
        };
        rename(0, "aside", 1000);
        rename(1, "a0", 0);
        rename(2, "a1", 7);
        rename(0, "a2", 14); // a ring of three
        rename(3, "away", 1001);
        rename(4, "a3", 21); // a row
        c.db.remove(c.db.get(id<account>(5)));
        rename(3, "a5", 35);
        c.db.remove(c.add("gone", 77));
    });
    copy.follow();
    copy.check();
    second.follow();
    second.check();
    CHECK(copy.own().get<account, by_name>("a2").id.value == 0);
    CHECK(copy.own().next_id<account>() == c.db.next_id<account>());
    c.db.undo();
    copy.follow();
    copy.check();
}

TEST_CASE_METHOD(seeded, "a copy has its own rows of what went to the archive") {
    const bool is_of_the_state = GENERATE(false, true);
    noted of(is_of_the_state);
    noted own(is_of_the_state);
    replica by(own.state);
    by.add(own.all);
    if (is_of_the_state) {
        by.add<archive::detail::kept_table>("archive.table");
        by.add<archive::detail::kept_row>("archive.row");
        by.add<archive::detail::kept_key>("archive.key");
    }
    log_reader from(of.state.state());
    own.state.set_revision(from.revision());
    int written = 0;
    const auto change_something = [&] {
        const id<note> any(static_cast<std::uint32_t>(
            random.below(std::max<std::uint64_t>(1, of.state.next_id<note>().value))));
        const note* const in_memory = of.state.find(any);
        switch (random.below(5)) {
        case 0:
        case 1:
            write(of.state, "author", std::to_string(++written), random.below(1000));
            break;
        case 2:
            if (in_memory && !of.all.is_retired(any)) of.all.retire(*in_memory);
            break;
        case 3:
            if (random.chance(400) && of.all.find(any)) of.all.remove(any);
            break;
        default:
            of.all.hand_over(of.state.committed_revision(), 1 + random.below(8));
        }
    };
    for (int step = 0; step < 400; ++step) {
        if (random.chance(150) && of.state.revision() > of.state.committed_revision()) {
            of.state.undo();
        } else {
            session block = of.state.start_session();
            for (std::uint64_t changes = 1 + random.below(12); changes != 0; --changes)
                change_something();
            block.push();
        }
        if (random.chance(300))
            of.state.commit(of.state.revision() - static_cast<std::int64_t>(random.below(4)));
        if (step != 399 && random.chance(300)) continue;
        for (entry one; from.next(one);)
            by.apply(one, from.types());
        check_same(of.state.memory(), own.state.memory());
        REQUIRE(own.all.archived() == of.all.archived());
    }
    for (std::uint32_t number = 0; number < of.state.next_id<note>().value; ++number) {
        const auto there = of.all.find(id<note>(number));
        const auto here = own.all.find(id<note>(number));
        REQUIRE(here.has_value() == there.has_value());
        if (!there) continue;
        archive::byte_buffer one, other;
        there->append_record(one);
        here->append_record(other);
        REQUIRE(one == other);
    }
    CHECK(own.all.archived() > 10);
}

TEST_CASE("what is no copy of the followed state is refused, and nothing is applied") {
    chain c;
    c.fill(3);
    sample_copy copy(c.db);
    database& own = copy.own();
    const auto before = records_of(own.memory());
    const revision_number revision = own.revision();
    log_reader from(c.state());
    replica by(own);
    by.add<account>("account");
    entry next;
    const auto apply = [&] { by.apply(next, from.types()); };
    const auto tell = [&](auto&& work) {
        c.block(work);
        while (from.next(next) && next.what != entry::kind::block) {
        }
    };
    const auto is_as_before = [&] {
        return own.revision() == revision && records_of(own.memory()) == before;
    };

    tell([&] { c.db.modify(id<account>(1), [](account& it) { it.visits = 5; }); });
    entry first = next;
    SECTION("another value before") {
        own.modify(id<account>(1), [](account& it) { it.visits = 9; });
        CHECK_THROWS_WITH(apply(), Contains("account 1: is another than the followed state says"));
        CHECK(own.get(id<account>(1)).visits == 9);
        CHECK(own.revision() == revision);
    }
    SECTION("an object that is missing") {
        own.remove(own.get(id<account>(1)));
        CHECK_THROWS_WITH(apply(), Contains("account 1: is not here"));
    }
    SECTION("an id that another one has") {
        tell([&] { c.add("new", 100); });
        by.apply(first, from.types());
        own.create<account>([](account& it) {
            it.name = "mine";
            it.number = 4;
        });
        CHECK_THROWS_WITH(apply(), Contains("object 3 is there already"));
    }
    SECTION("a type that it does not know") {
        by.apply(first, from.types());
        tell([&] { c.db.create<stake>([](stake&) {}); });
        CHECK_THROWS_AS(apply(), schema_error);
        CHECK_THROWS_WITH(apply(), Contains("stake: a type"));
        by.leave_out("stake");
        apply();
        CHECK(own.count<stake>() == 0);
    }
    SECTION("a block that does not follow") {
        tell([&] { c.add("new", 100); });
        CHECK_THROWS_AS(apply(), usage_error);
        CHECK_THROWS_WITH(apply(), Contains("does not follow"));
        CHECK(is_as_before());
    }
    SECTION("a pop of what cannot be undone") {
        next = feed::pop_of(first);
        next.revision = revision;
        CHECK_THROWS_AS(apply(), feed::too_far_behind_error);
        CHECK(is_as_before());
    }
    SECTION("what comes after it fails") {
        CHECK_THROWS_WITH(by.apply(first, from.types(),
                                   [](session&, bool) { throw damaged_error("another root"); }),
                          Contains("another root"));
        CHECK(is_as_before());
        by.apply(first, from.types());
        CHECK(own.get(id<account>(1)).visits == 5);
    }
}

TEST_CASE("objects get the ids that the caller says, and smaller ones are not given out") {
    chain c;
    c.fill(2);
    const auto named = [](const char* name, std::uint64_t number) {
        return [=](account& it) {
            it.name = name;
            it.number = number;
        };
    };
    c.block([&] { c.add("undone", 500); });
    c.db.undo(); // leaves an entry for id 2
    auto session = c.db.start_session();
    CHECK(c.db.create_as<account>(id<account>(5), named("five", 900)).id.value == 5);
    for (const std::uint32_t skipped : {2, 3, 4})
        CHECK(c.db.find(id<account>(skipped)) == nullptr);
    CHECK(c.db.create_as<account>(id<account>(3), named("three", 901)).id.value == 3);
    CHECK(c.db.get<account, by_name>("three").id.value == 3);
    CHECK_THROWS_WITH(c.db.create_as<account>(id<account>(3), named("again", 902)),
                      Contains("account: object 3 is there already"));
    CHECK_THROWS_AS(c.db.create_as<account>(id<account>(9), named("three", 903)),
                    duplicate_key_error);
    CHECK(c.db.next_id<account>().value == 6);
    c.db.skip_ids(id<account>(8));
    c.db.skip_ids(id<account>(7));
    CHECK(c.add("eight", 800).id.value == 8);
    session.undo();
    CHECK(c.db.next_id<account>().value == 2);
    CHECK(c.add("two", 200).id.value == 2);
    CHECK(c.db.find(id<account>(3)) == nullptr);
}
