// What leaves memory for the archive is told apart from what is removed, also when it comes back.

#include <archive/lifecycle.hpp>
#include <chainbase/feed/feed_files.hpp>
#include <chainbase/feed/log_reader.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/world.hpp>
#include <tests/feed/told_objects.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <cstdint>
#include <set>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A world of notes, and what is told of it.
class told_world : public note_world {
public:
    explicit told_world(random_source& random) : random_(random), reader_(state.state()) {}

    void change_something() {
        const auto end = state.next_id<note>().value;
        const id<note> any(end == 0 ? 0 : static_cast<std::uint32_t>(random_.below(end)));
        const note* const in_memory = state.find(any);
        switch (random_.below(6)) {
        case 0:
        case 1:
            write(state, "author", std::to_string(++written_), random_.below(1000));
            break;
        case 2:
        case 3:
            if (in_memory && !all.is_retired(any)) all.retire(*in_memory);
            break;
        case 4:
            if (random_.chance(400) && all.find(any)) all.remove(any);
            break;
        default:
            all.hand_over(state.committed_revision(), 1 + random_.below(8));
        }
    }
    /// Reads what there is, and compares.
    void check() {
        for (feed::entry one; reader_.next(one);) {
            for (const feed::object_change& each : one.changes) {
                using kind = feed::object_change::kind;
                archived += each.what == kind::archived;
                unarchived += each.what == kind::unarchived;
                if (one.what == feed::entry::kind::block) REQUIRE(each.what != kind::unarchived);
            }
            told_.take(one);
        }
        const auto type = static_cast<std::uint32_t>(
            std::ranges::find(reader_.types(), "note", &type_schema::name) -
            reader_.types().begin());
        for (std::uint32_t number = 0; number < state.next_id<note>().value; ++number) {
            INFO("note " << number);
            const bool is_in_memory = state.find(id<note>(number)) != nullptr;
            const bool is_object = all.find(id<note>(number)).has_value();
            const bool is_told_archived = told_.archived().contains({type, number});
            REQUIRE(told_.objects().contains({type, number}) == is_in_memory);
            if (is_in_memory) REQUIRE_FALSE(is_told_archived);
            if (is_object && !is_in_memory) {
                REQUIRE(is_told_archived);
                was_archived_.insert(number);
            }
            if (is_told_archived) REQUIRE(was_archived_.contains(number));
            if (!is_object && !is_told_archived) ++removed_in_memory;
        }
    }

    std::uint64_t archived = 0, unarchived = 0, removed_in_memory = 0;

private:
    random_source& random_;
    feed::log_reader reader_;
    told_objects told_;
    std::set<std::uint32_t> was_archived_; ///< at the end of a block
    int written_ = 0;
};

} // namespace

TEST_CASE_METHOD(seeded,
                 "what the archive takes over is told as that, and what is removed as that") {
    told_world world(random);
    for (int step = 0; step < 600; ++step) {
        database& state = world.state;
        if (random.chance(150) && state.revision() > state.committed_revision())
            state.undo();
        else
            world.block([&] {
                for (std::uint64_t changes = 1 + random.below(12); changes != 0; --changes)
                    world.change_something();
            });
        if (random.chance(300))
            state.commit(state.revision() - static_cast<std::int64_t>(random.below(4)));
        world.check();
    }
    CHECK(world.archived > 50);
    CHECK(world.unarchived > 5);
    CHECK(world.removed_in_memory > 0);
}

TEST_CASE("a record has each kind of change") {
    using kind = feed::object_change::kind;
    feed::entry told{feed::entry::kind::block, 7, 9, {}, {}};
    for (const kind what :
         {kind::created, kind::modified, kind::removed, kind::archived, kind::unarchived}) {
        feed::object_change one{3, static_cast<std::uint32_t>(what), what, told.content.size(), 0,
                                0};
        const bool is_new = what == kind::created || what == kind::unarchived;
        const bool goes = what == kind::removed || what == kind::archived;
        if (!is_new) told.content.resize(told.content.size() + 4);
        one.after_at = told.content.size();
        if (!goes) told.content.resize(told.content.size() + 5);
        one.end = told.content.size();
        told.changes.push_back(one);
    }
    for (const feed::entry& each : {told, feed::pop_of(told)}) {
        feed::feed_reader::record written;
        written.head.changes = each.changes.size();
        feed::encode(each, written.body);
        feed::entry read;
        feed::decode(written, read);
        REQUIRE(read.changes.size() == each.changes.size());
        CHECK(read.content == each.content);
        for (std::size_t i = 0; i < each.changes.size(); ++i) {
            CHECK(read.changes[i].what == each.changes[i].what);
            CHECK(read.changes[i].type == 3);
            CHECK(read.before(read.changes[i]).size() == each.before(each.changes[i]).size());
        }
    }
}
