// Behaviour that users of Hive's and Antelope's chainbase rely on: every pair of changes in nested
// sessions, keys rotated among objects, throwing functions, guards in containers, loops that change
// the container they iterate over, and a node's blocks and forks.

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

// Every pair of changes, one in a session and one in a nested session, with every way to end both.

namespace {

enum class outcome { undo, squash, push, push_and_undo_all, push_and_commit };

/// A small state beside a naive model that copies everything for each session.
template <typename T>
class twin : public one_type<T> {
public:
    struct step {
        const char* name;
        void (twin::*run)();
    };
    static const std::vector<step>& steps() {
        static const std::vector<step> all = {
            {"nothing", &twin::nothing},           {"create", &twin::create},
            {"modify first", &twin::modify_first}, {"modify last", &twin::modify_last},
            {"move first", &twin::move_first},     {"move last", &twin::move_last},
            {"remove first", &twin::remove_first}, {"remove last", &twin::remove_last},
            {"replace first", &twin::replace},     {"swap", &twin::swap},
            {"collide", &twin::collide},           {"fail", &twin::fail}};
        return all;
    }
    void refill() {
        while (now_.objects.size() < 3)
            create();
    }
    session start() {
        before_.push_back(now_);
        return this->db.start_session();
    }
    /// Ends the inner of two sessions, or the outer one with the rest of the inner one.
    void end(session& guard, outcome how, bool is_outer) {
        if (how == outcome::undo)
            guard.undo();
        else if (how == outcome::squash)
            guard.squash();
        else
            guard.push();
        if (how == outcome::push_and_undo_all) this->db.undo_all();
        if (how == outcome::push_and_commit) {
            this->db.commit(this->db.revision());
            committed_ += static_cast<revision_number>(before_.size());
        }
        if (how == outcome::push) return;
        const auto mine = is_outer ? before_.begin() : before_.end() - 1;
        if (how == outcome::undo || how == outcome::push_and_undo_all) now_ = *mine;
        before_.erase(mine, before_.end());
    }
    /// The first difference; empty if there is none.
    [[nodiscard]] std::string difference() const {
        const auto revision = committed_ + static_cast<revision_number>(before_.size());
        if (this->count() != now_.objects.size()) return "count";
        if (this->db.template next_id<T>().value != now_.next_id) return "next id";
        if (this->db.committed_revision() != committed_) return "committed revision";
        if (this->db.revision() != revision) return "revision";
        auto expected = now_.objects.begin();
        for (const T& object : this->db.template objects<T>()) {
            const auto& [number, one] = *expected++;
            if (&object != one.at || this->find(number) != one.at) return "address";
            if (this->at(object.key) != &object) return "by its key";
            if (fields_of(object) != fields_of(one.content)) return "content";
        }
        for (std::uint32_t key = next_key_ < 12 ? 0 : next_key_ - 12; key <= next_key_; ++key)
            if (this->at(key) != model_at(key)) return "by key " + std::to_string(key);
        for (std::uint32_t group = 0; group < groups; ++group)
            if (!is_in_order(group)) return "by group " + std::to_string(group);
        return "";
    }

private:
    struct known {
        T content;
        const T* at;
    };
    struct known_state {
        std::map<std::uint32_t, known> objects; ///< by id
        std::uint32_t next_id = 0;
    };
    static constexpr std::uint32_t groups = 3;

    static auto fields_of(const T& o) { return std::tuple(o.id, o.key, o.group, o.value); }
    [[nodiscard]] std::uint32_t first() const { return now_.objects.begin()->first; }
    [[nodiscard]] std::uint32_t last() const { return now_.objects.rbegin()->first; }
    [[nodiscard]] std::uint32_t key_of(std::uint32_t n) const {
        return now_.objects.at(n).content.key;
    }
    void create_with(std::uint32_t key) {
        const T& made = this->add(key, key % groups);
        now_.objects.insert({now_.next_id++, {made, &made}});
    }
    /// Applies the same change to the object and to the model's copy.
    template <typename Change>
    void change(std::uint32_t number, Change&& how) {
        this->db.modify(id<T>(number), how);
        how(now_.objects.at(number).content);
    }
    void move(std::uint32_t number, std::uint32_t key) {
        change(number, [&](T& one) { one = {one.id, key, (one.group + 1) % groups, one.value}; });
    }
    void remove(std::uint32_t number) {
        this->db.remove(id<T>(number));
        now_.objects.erase(number);
    }
    void nothing() {}
    void create() { create_with(next_key_++); }
    void modify_first() {
        change(first(), [](T& one) { one.value += 7; });
    }
    void modify_last() {
        change(last(), [](T& one) { one.value += 9; });
    }
    void move_first() { move(first(), next_key_++); }
    void move_last() { move(last(), next_key_++); }
    void remove_first() { remove(first()); }
    void remove_last() { remove(last()); }
    void replace() { ///< removes the first; a new object takes its key
        const std::uint32_t key = key_of(first());
        remove(first());
        create_with(key);
    }
    void swap() { ///< swaps the keys of the first and the last
        const std::uint32_t of_first = key_of(first());
        const std::uint32_t of_last = key_of(last());
        move(first(), next_key_++);
        if (first() != last()) move(last(), of_first);
        move(first(), of_last);
    }
    void collide() { ///< refused, caught
        const std::uint32_t key = key_of(first());
        CHECK_THROWS_AS(this->add(key), duplicate_key_error);
        if (first() == last()) return;
        const auto take = [&](T& one) { one = {one.id, key, 2, 99}; };
        CHECK_THROWS_AS(this->db.modify(id<T>(last()), take), duplicate_key_error);
    }
    void fail() { ///< a modifier throws half way, caught
        const auto half_way = [&](T& one) {
            one = {one.id, next_key_, 0, 98};
            throw 5;
        };
        CHECK_THROWS_AS(this->db.modify(id<T>(last()), half_way), int);
    }
    [[nodiscard]] const T* model_at(std::uint32_t key) const {
        for (const auto& [number, one] : now_.objects)
            if (one.content.key == key) return one.at;
        return nullptr;
    }
    /// Objects with equal keys are ordered by id. (The peers order them by insertion, which undo
    /// changes.)
    [[nodiscard]] bool is_in_order(std::uint32_t group) const {
        std::vector<const T*> modelled;
        for (const auto& [number, one] : now_.objects)
            if (one.content.group == group) modelled.push_back(one.at);
        const auto walked = this->db.template view<T, by_group>().equal_range(group);
        return std::ranges::equal(walked, modelled, {}, [](const T& one) { return &one; });
    }

    known_state now_;
    std::vector<known_state> before_; ///< the state at the begin of each session
    revision_number committed_ = 0;
    std::uint32_t next_key_ = 0;
};

} // namespace

TEMPLATE_TEST_CASE("peers: any two changes in nested sessions are undone, merged and kept", "",
                   item, card, ticket) {
    const auto of_inner = GENERATE(outcome::undo, outcome::squash, outcome::push);
    const auto of_outer = GENERATE(outcome::undo, outcome::squash, outcome::push_and_undo_all,
                                   outcome::push_and_commit);
    using twin_type = twin<TestType>;
    twin_type t;
    const auto& steps = twin_type::steps();
    for (std::size_t number = 0; number < steps.size() * steps.size() * 4; ++number) {
        const auto& one = steps[number / 4 % steps.size()];
        const auto& two = steps[number / 4 / steps.size()];
        const auto& three = steps[std::array{0, 3, 6, 9}[number % 4]];
        INFO(one.name << ", within: " << two.name << ", behind: " << three.name << "; endings "
                      << static_cast<int>(of_inner) << ", " << static_cast<int>(of_outer));
        t.refill();
        session outer = t.start();
        (t.*one.run)();
        session inner = t.start();
        (t.*two.run)();
        REQUIRE(t.difference() == "");
        t.end(inner, of_inner, false);
        REQUIRE(t.difference() == "");
        (t.*three.run)();
        t.end(outer, of_outer, true);
        REQUIRE(t.difference() == "");
    }
}

// Three unique keys of different kinds: rotations are undone, collisions in any are refused.

namespace {

struct by_a;
struct by_b;
struct by_c;

struct triple {
    chainbase::id<triple> id;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;

    using keys = chainbase::keys<ordered_unique<by_a, &triple::a>, hashed_unique<by_b, &triple::b>,
                                 ranked_unique<by_c, &triple::c>>;
};
BOOST_DESCRIBE_STRUCT(triple, (), (id, a, b, c))

/// Object n has the keys n, 10 + n and 20 + n.
struct triples : one_type<triple> {
    static constexpr std::uint32_t count = 5;

    triples() {
        for (std::uint32_t n = 0; n < count; ++n)
            add_triple({n, 10 + n, 20 + n});
    }
    using three = std::array<std::uint32_t, 3>;
    const triple& add_triple(const three& keys) {
        return db.create<triple>([&](triple& one) { one = {one.id, keys[0], keys[1], keys[2]}; });
    }
    void set(std::uint32_t number, const three& keys) {
        db.modify(id<triple>(number),
                  [&](triple& one) { one = {one.id, keys[0], keys[1], keys[2]}; });
    }
    [[nodiscard]] bool all_found() const {
        for (std::uint32_t n = 0; n < count; ++n) {
            const triple* one = find(n);
            if (!one || db.find<triple, by_a>(n) != one || db.find<triple, by_b>(10 + n) != one ||
                db.find<triple, by_c>(20 + n) != one)
                return false;
            const auto ranks = db.view<triple, by_c>();
            if (ranks.rank(ranks.iterator_to(*one)) != n) return false;
        }
        return db.count<triple>() == count;
    }
    /// Each object takes one key of the next, one of the previous, and one of the third.
    void rotate() {
        for (std::uint32_t n = 0; n < count; ++n)
            set(n, {100 + n, 110 + n, 120 + n});
        for (std::uint32_t n = 0; n < count; ++n)
            set(n, {(n + 1) % count, 10 + (n + 2) % count, 20 + (n + 3) % count});
    }
};

} // namespace

// Hive's undo restores objects one by one, and fails when their keys form a cycle.
TEST_CASE("peers: keys passed on in circles, another circle for each key, come back") {
    triples s;
    const snapshot before = s.now();
    auto outer = s.db.start_session();
    s.rotate();
    CHECK(s.db.get<triple, by_b>(10U).id.value == 3);
    CHECK_FALSE(s.all_found());
    const int how = GENERATE(0, 1, 2);
    if (how == 1) {
        auto inner = s.db.start_session();
        s.rotate();
        s.db.remove(id<triple>(2));
        s.add_triple({3, 14, 20}); // the removed object's keys
        inner.squash();
    }
    if (how == 2) {
        outer.push();
        s.db.undo();
    }
    outer.undo();
    CHECK(s.all_found());
    CHECK(s.now() == before);
}

// Both peers erase an object whose modification collides.
TEST_CASE("peers: a collision in any of several unique keys names it and changes nothing") {
    const bool within_session = GENERATE(false, true);
    const std::size_t which = GENERATE(0U, 1U, 2U);
    triples s;
    std::optional<session> block;
    if (within_session) block.emplace(s.db.start_session());
    const triple& fresh = s.add_triple({50, 51, 52});
    triples::three taken{60, 61, 62};
    taken[which] = static_cast<std::uint32_t>(10 * which + 4);
    const snapshot before = s.now();
    const std::string name = std::array{"by_a", "by_b", "by_c"}[which];
    for (int again = 0; again < 2; ++again) {
        const auto refused = [&](auto&& call) {
            CHECK_THAT(message_of<duplicate_key_error>(call), Contains(name));
            CHECK(s.now() == before);
        };
        refused([&] { s.add_triple(taken); });
        refused([&] { s.set(1, taken); });
        refused([&] { s.set(fresh.id.value, taken); });
    }
    s.set(fresh.id.value, {60, 61, 62}); // the refused change left none of these keys
    CHECK(s.add_triple({50, 51, 52}).id.value == fresh.id.value + 1);
    s.db.remove(fresh.id);
    s.db.remove(id<triple>(triples::count + 1));
    CHECK(s.all_found());
}

// User functions that throw at their first, second, third ... call.

namespace {

struct due_failure {};

/// How often throw_when_due() may still be called before it throws, once.
std::uint64_t calls_left = UINT64_MAX;

void throw_when_due() {
    if (calls_left-- == 0) throw due_failure();
}

/// Calls `attempt` with the n-th throw_when_due() throwing, n = 0, 1, 2, ..., until it succeeds:
/// returns how often it failed, each time without a trace in the state.
template <typename Attempt>
std::uint64_t until_success(database& db, Attempt&& attempt) {
    const snapshot before(db.memory());
    const revision_number revision = db.revision();
    for (std::uint64_t n = 0;; ++n) {
        calls_left = n;
        bool is_done = true;
        try {
            attempt();
        } catch (const due_failure&) {
            is_done = false;
        }
        calls_left = UINT64_MAX;
        if (is_done) return n;
        INFO("call " << n << " threw");
        REQUIRE(snapshot(db.memory()).difference(before) == "");
        REQUIRE(db.revision() == revision);
    }
}

void write(post& p, std::uint32_t number, std::size_t bytes) {
    throw_when_due();
    p.author = "author" + std::to_string(number % 2);
    throw_when_due();
    p.permlink = "link" + std::to_string(number);
    p.body = std::string(bytes, 'x');
    throw_when_due();
}
const post& create_post(database& db, std::uint32_t number, std::size_t bytes) {
    return db.create<post>([&](post& p) { write(p, number, bytes); });
}

} // namespace

TEST_CASE("peers: a block whose n-th step throws is undone whole, for every n") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<post>("post");
    for (std::uint32_t n = 0; n < 3; ++n)
        create_post(db, n, 200);
    const snapshot before(db.memory());
    const std::uint64_t failures = until_success(db, [&] {
        auto block = db.start_session();
        create_post(db, 10, 30);
        {
            auto transaction = db.start_session();
            db.modify(id<post>(0), [&](post& p) { write(p, 20, 9'000); });
            create_post(db, 0, 100); // the released link
            db.remove(id<post>(1));
            throw_when_due();
            transaction.squash();
        }
        db.remove_if<post>([&](const post& p) {
            throw_when_due();
            return p.permlink == "link10";
        });
        db.modify(id<post>(0), [&](post& p) { write(p, 1, 0); });
        throw_when_due();
        block.push();
    });
    CHECK(failures > 15);
    CHECK(db.revision() == 1);
    CHECK(db.get<post, by_address>("link1", "author1").id.value == 0);
    CHECK(db.get<post, by_link>("author0", "link0").id.value == 4);
    db.undo();
    CHECK(snapshot(db.memory()) == before);
}

namespace {

/// Every key is computed by a function that may throw.
struct throwing_key {
    chainbase::id<throwing_key> id;
    std::uint32_t key = 0;
    std::uint32_t group = 0;
    std::uint32_t value = 0;

    static std::uint32_t checked(std::uint32_t of) {
        throw_when_due();
        return of;
    }
    [[nodiscard]] std::uint32_t key_now() const { return checked(key); }
    [[nodiscard]] std::uint32_t code_now() const { return checked(key + 1'000); }
    [[nodiscard]] std::uint32_t group_now() const { return checked(group); }
    [[nodiscard]] std::uint32_t value_now() const { return checked(value); }

    using keys = chainbase::keys<ordered_unique<by_key, &throwing_key::key_now>,
                                 hashed_unique<by_code, &throwing_key::code_now>,
                                 hashed_non_unique<by_group, &throwing_key::group_now>,
                                 ranked_non_unique<by_value, &throwing_key::value_now>>;
};
BOOST_DESCRIBE_STRUCT(throwing_key, (), (id, key, group, value))

} // namespace

// Antelope's tests inject failures into copies and allocations; here computed keys may fail, too.
TEST_CASE("peers: a key function that throws at any of its calls leaves no trace of the change") {
    const bool within_session = GENERATE(false, true);
    one_type<throwing_key> s;
    for (std::uint32_t n = 0; n < 6; ++n)
        s.add(n, n % 2);
    const snapshot begin = s.now();
    std::optional<session> block;
    if (within_session) block.emplace(s.db.start_session());
    for (std::uint32_t n = 6; n < 12; ++n)
        s.add(n, n % 2);
    const auto survives = [&](const char* what, auto&& change) {
        INFO(what);
        const std::uint64_t failures = until_success(s.db, change);
        CHECK(failures > 0);
        std::size_t walked = 0;
        for (const throwing_key& one : s.db.view<throwing_key, by_value>()) {
            CHECK(s.at(one.key) == &one);
            CHECK(s.db.find<throwing_key, by_code>(one.key + 1'000) == &one);
            ++walked;
        }
        CHECK(walked == s.count());
    };
    survives("create", [&] { s.add(20, 1); });
    for (const std::uint32_t number : {0U, 7U, 12U})
        survives("modify", [&] {
            s.db.modify(id<throwing_key>(number),
                        [&](throwing_key& one) { one = {one.id, 30 + number, 1 - one.group, 5}; });
        });
    for (const std::uint32_t number : {1U, 8U})
        survives("remove", [&] { s.db.remove(id<throwing_key>(number)); });
    survives("create in a free slot", [&] { s.add(1, 1); });
    survives("get_or_create", [&] {
        s.db.get_or_create<throwing_key, by_key>(40U, [](throwing_key& one) { one.key = 40; });
    });
    survives("clear", [&] { s.clear(); });
    block.reset();
    if (within_session) CHECK(s.now() == begin);
}

// Guards, references, iterators and loops.

TEST_CASE("peers: guards are kept in vectors and optionals, and end from the newest on") {
    one_type<item> s;
    s.add(1);
    const snapshot before = s.now();
    std::vector<session> open;
    for (std::uint32_t depth = 0; depth < 40; ++depth) { // the vector grows and moves the guards
        open.push_back(s.db.start_session());
        s.add(100 + depth);
    }
    open.back().squash();
    open.pop_back();
    CHECK(s.count() == 41);
    open.pop_back(); // undone, with everything merged into it
    CHECK(s.count() == 39);
    open[35].squash(); // merges the two above it, too
    CHECK(s.count() == 39);
    CHECK(s.db.revision() == 35);
    open.clear(); // the first one ends the others, too
    CHECK(s.now() == before);

    std::optional<session> pending;
    for (std::uint32_t round = 0; round < 3; ++round) {
        pending.reset();
        CHECK(s.count() == 1);
        pending.emplace(s.db.start_session());
        s.add(10 + round);
    }
    // The new session lies in the one that the assignment would end, and would end with it.
    CHECK_THROWS_WITH(pending = s.db.start_session(), Contains("undo that one first"));
    CHECK(pending->active());
    CHECK(s.db.revision() == 1);
    CHECK(s.count() == 2);
    pending->undo();
    CHECK_FALSE(pending->active());
    pending = s.db.start_session();
    CHECK(pending->active());
    pending.reset();
    CHECK(s.now() == before);
}

TEST_CASE("peers: references and iterators from before a session are good when it was undone") {
    one_type<item> s;
    for (std::uint32_t k = 0; k < 30; ++k)
        s.add(k, 30 - k);
    const auto groups = s.db.view<item, by_group>();
    const std::vector<item> content(groups.begin(), groups.end());
    std::vector<decltype(groups)::iterator> places;
    for (auto at = groups.begin(); at != groups.end(); ++at)
        places.push_back(at);
    {
        auto session = s.db.start_session();
        s.db.remove_if<item>([](const item& one) { return one.key % 2 == 0; });
        for (const item& one : s.db.objects<item>())
            s.db.modify(one, [](item& t) { t.group = t.key * 7 % 13; });
        for (std::uint32_t k = 0; k < 300; ++k)
            s.add(1'000 + k, k);
        s.clear();
        s.add(5, 5);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        CHECK(s.db.find(content[i].id) == &*places[i]);
        CHECK(places[i]->group == content[i].group);
        CHECK(std::next(places[i]) == (i + 1 < places.size() ? places[i + 1] : groups.end()));
        CHECK(groups.iterator_to(*places[i]) == places[i]);
    }
}

TEST_CASE("peers: a walk may remove and modify what it has passed") {
    one_type<item> s;
    for (std::uint32_t k = 0; k < 200; ++k)
        s.add(k, k * 37 % 50);
    const snapshot before = s.now();
    auto session = s.db.start_session();
    const auto groups = s.db.view<item, by_group>();
    std::uint32_t seen = 0;
    for (auto at = groups.begin(); at != groups.end() && at->group < 50; ++seen) {
        const item& one = *at++;
        if (one.key % 2 == 0)
            s.db.remove(one);
        else
            s.db.modify(one, [](item& t) { t.group += 100; }); // moves behind all others
    }
    CHECK(seen == 200);
    CHECK(groups.size() == 100);
    while (!groups.empty() && groups.begin()->group < 120) // removes all due ones
        s.db.remove(*groups.begin());
    CHECK(groups.begin()->group >= 120);
    CHECK(std::ranges::is_sorted(groups, {}, &item::group));
    session.undo();
    CHECK(s.now() == before);
}

// A node: blocks of transactions, some of which fail; a switch to a fork; irreversible blocks. The
// content depends on the blocks alone, not on undone ones.

namespace {

struct node : one_type<item> {
    /// Applies the block of `branch` at `height`.
    void apply(std::uint32_t height, std::uint32_t branch) {
        auto block = db.start_session();
        for (std::uint32_t t = 0; t < 12; ++t) {
            try {
                auto transaction = db.start_session();
                transact((height * 31 + branch * 17 + t * 7) % 40, t);
                transaction.squash();
            } catch (const duplicate_key_error&) {
            } catch (const due_failure&) {
            }
        }
        block.push();
    }
    void transact(std::uint32_t key, std::uint32_t t) {
        const item* one = at(key);
        if (!one) {
            add(key, t % 3);
        } else if (t % 4 == 0) {
            db.remove(*one);
            add(key, 2);
        } else if (t % 4 == 1) {
            db.modify(*one, [&](item& o) { ++o.value; });
            set_key(*one, (key + 3) % 40); // taken or not
        } else if (t % 4 == 2) {
            db.remove(*one);
        } else {
            db.modify(*one, [&](item& o) { o.group = (o.group + 1) % 3; });
            if (t == 7) throw due_failure();
        }
    }
    using row = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    /// All objects in two orders, and the next id.
    [[nodiscard]] std::vector<row> content() const {
        std::vector<row> rows{{db.next_id<item>().value, 0, 0, 0}};
        for (const item& o : db.view<item, by_key>())
            rows.emplace_back(o.id.value, o.key, o.group, o.value);
        for (const item& o : db.view<item, by_group>())
            rows.emplace_back(o.id.value, o.key, o.group, o.value);
        return rows;
    }
};

} // namespace

TEST_CASE("peers: a node that switched forks has what one has that saw the better fork only") {
    node straight;
    std::vector<std::vector<node::row>> at{straight.content()};
    for (std::uint32_t height = 1; height <= 30; ++height) {
        straight.apply(height, 1);
        at.push_back(straight.content());
    }
    node switching;
    for (std::uint32_t head = 0; head < 30; head += 3) {
        for (const std::uint32_t branch : {2U, 3U, 1U}) { // two losing forks
            std::optional<session> pending;
            for (std::uint32_t height = head + 1; height <= head + 3; ++height) {
                pending.reset();
                switching.apply(height, branch);
                pending.emplace(switching.db.start_session());
                switching.transact(height % 40, branch + 1); // pending for the next block
            }
            pending.reset();
            CHECK(switching.db.revision() == head + 3);
            for (int popped = 0; popped < 3 && branch != 1; ++popped)
                switching.db.undo();
            CHECK(switching.content() == at[branch == 1 ? head + 3 : head]);
        }
        switching.db.commit(head + 1);
        CHECK(switching.db.committed_revision() == head + 1);
    }
    switching.db.undo_all();
    CHECK(switching.db.revision() == 28);
    CHECK(switching.content() == at[28]);
}
