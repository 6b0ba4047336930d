#pragma once

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>

#include <optional>
#include <utility>

// Test bodies that run over several kinds of state: without failures, and with every acquisition
// failing in turn. `State` is a one_type.

namespace chainbase::test {

/// Whether the objects are older than the session, created in it, or there is no session.
enum class situation { no_session, old_objects, new_objects, pushed_session };

constexpr situation all_situations[] = {situation::no_session, situation::old_objects,
                                        situation::new_objects, situation::pushed_session};

template <typename State>
struct pair_of : State {
    explicit pair_of(situation when) {
        if (when == situation::new_objects) open();
        a = &this->add(1, 5);
        b = &this->add(2, 6);
        if (when == situation::old_objects) open();
        if (when != situation::pushed_session) return;
        open();
        guard->push();
        guard.reset();
    }
    /// Undoes the session, if any, and with it everything done in it.
    void undo() {
        if (!begin) return;
        if (guard)
            guard->undo();
        else
            this->db.undo();
        CHECK(this->now() == *begin);
    }
    const typename State::object* a;
    const typename State::object* b;

private:
    void open() {
        begin.emplace(this->now());
        guard.emplace(this->db.start_session());
    }

    std::optional<snapshot> begin;
    std::optional<decltype(std::declval<State&>().db.start_session())> guard;
};

/// Requires that undo reverts everything that `work` does.
template <typename State, typename Work>
void undone(State& s, Work&& work) {
    const snapshot before = s.now();
    {
        const auto session = s.db.start_session();
        work();
    }
    CHECK(s.now() == before);
}

/// Undo restores the keys of two objects that swapped them.
template <typename State>
void swapped_keys() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1);
    const T& b = s.add(2);
    undone(s, [&] {
        s.set_key(a, 3);
        s.set_key(b, 1);
        s.set_key(a, 2);
        REQUIRE(s.at(2) == &a);
        REQUIRE(s.at(1) == &b);
    });
    CHECK(s.at(1) == &a);
    CHECK(s.at(2) == &b);
    CHECK(s.at(3) == nullptr);
}

/// Undo restores a key that a new object took.
template <typename State>
void taken_key() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1);
    undone(s, [&] {
        s.set_key(a, 2);
        s.add(1);
        REQUIRE(s.count() == 2);
    });
    CHECK(s.at(1) == &a);
    CHECK(s.count() == 1);
}

/// Undo restores a removed object whose key was reused.
template <typename State>
void key_used_again() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1);
    s.db.modify(a, [](T& t) { t.value = 7; });
    undone(s, [&] {
        s.db.remove(a);
        const T& again = s.add(1);
        REQUIRE(again.id.value == 1);
        REQUIRE(again.value == 0);
    });
    REQUIRE(s.at(1) == &a);
    CHECK(a.id.value == 0);
    CHECK(a.value == 7);
}

/// Undo of a rotation of keys.
template <typename State>
void ring_of_keys() {
    State s;
    for (std::uint32_t k = 0; k < 100; ++k)
        s.add(k, k % 3);
    undone(s, [&] {
        for (int round = 0; round < 3; ++round) {
            for (std::uint32_t k = 100; k > 0; --k)
                s.set_key(*s.at(k - 1), k);
            s.set_key(*s.at(100), 0);
        }
        REQUIRE(s.at(3)->id.value == 0);
    });
    for (std::uint32_t k = 0; k < 100; ++k)
        CHECK(s.at(k)->id.value == k);
}

/// Removes an object created in the session, then undoes.
template <typename State>
void removing_new() {
    using T = typename State::object;
    State s;
    s.add(1);
    undone(s, [&] {
        const T& fresh = s.add(2);
        s.db.remove(fresh);
        REQUIRE(s.at(2) == nullptr);
    });
    CHECK(s.count() == 1);
}

/// Removes an object changed in the session, then undoes.
template <typename State>
void removing_changed() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1, 4);
    s.add(2, 4);
    undone(s, [&] {
        s.db.modify(a, [](T& t) {
            t.value = 3;
            t.key = 10;
            t.group = 5;
        });
        s.db.remove(a);
        REQUIRE(s.at(1) == nullptr);
        REQUIRE(s.at(10) == nullptr);
        REQUIRE(s.find(0) == nullptr);
    });
    REQUIRE(s.at(1) == &a);
    CHECK(a.value == 0);
    CHECK(a.group == 4);
}

/// Undoing the outer session restores a slot freed and reused in an inner one.
template <typename State>
void reused_slot() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1, 4);
    undone(s, [&] {
        s.db.modify(a, [](T& t) { t.value = 1; });
        {
            auto inner = s.db.start_session();
            s.db.remove(a);
            inner.squash();
        }
        const T& b = s.add(2);
        REQUIRE(&b == &a); // the same slot
        {
            auto inner = s.db.start_session();
            s.db.modify(b, [](T& t) { t.value = 2; });
            s.db.remove(b);
            s.add(3);
        }
        REQUIRE(s.at(2) == &b);
    });
    REQUIRE(s.at(1) == &a);
    CHECK(a.value == 0);
}

/// Undone ids are assigned again.
template <typename State>
void ids_given_again() {
    using T = typename State::object;
    State s;
    s.add(1);
    {
        auto session = s.db.start_session();
        CHECK(s.add(2).id.value == 1);
        CHECK(s.add(3).id.value == 2);
    }
    CHECK(s.find(1) == nullptr);
    CHECK(s.find(2) == nullptr);
    const T& again = s.add(4);
    CHECK(again.id.value == 1);
    CHECK(s.find(1) == &again);
    s.db.remove(again);
    CHECK(s.add(5).id.value == 2); // but not those of removed objects
    CHECK(s.find(1) == nullptr);
}

/// Undo of clear().
template <typename State>
void clearing() {
    State s;
    for (std::uint32_t k = 0; k < 500; ++k)
        s.add(k, k % 7);
    s.db.remove(*s.at(13));
    undone(s, [&] {
        s.set_key(*s.at(5), 5000);
        s.add(700);
        s.clear();
        REQUIRE(s.count() == 0);
        REQUIRE(s.find(3) == nullptr);
        REQUIRE(s.at(1) == nullptr);
        s.add(1);
    });
    CHECK(s.count() == 499);
    CHECK(s.at(5)->id.value == 5);
    s.clear();
    CHECK(s.count() == 0);
    CHECK(s.add(1).id.value == 500);
}

/// A colliding modification leaves the object unchanged.
template <typename State>
void colliding_modification() {
    using T = typename State::object;
    for (const situation when : all_situations) {
        pair_of<State> s(when);
        const snapshot before = s.now();
        const std::string said = message_of<duplicate_key_error>([&] {
            s.db.modify(*s.b, [](T& t) {
                t.value = 9;
                t.group = 1;
                t.key = 1;
            });
        });
        CHECK_THAT(said, Catch::Matchers::Contains("thing") &&
                             Catch::Matchers::Contains("by_key") &&
                             Catch::Matchers::Contains("(1)"));
        CHECK(s.now() == before);
        CHECK(s.at(2) == s.b);
        CHECK(s.b->value == 0);
        CHECK(s.b->group == 6);
        s.db.modify(*s.b, [](T& t) { t.key = 3; });
        CHECK(s.at(3) == s.b);
        CHECK(s.at(2) == nullptr);
        s.undo();
    }
}

/// A colliding creation leaves no trace.
template <typename State>
void colliding_creation() {
    for (const situation when : all_situations) {
        pair_of<State> s(when);
        const snapshot before = s.now();
        CHECK_THAT(message_of<duplicate_key_error>([&] { s.add(2); }),
                   Catch::Matchers::Contains("thing") && Catch::Matchers::Contains("by_key") &&
                       Catch::Matchers::Contains("(2)"));
        CHECK(s.now() == before);
        CHECK(s.add(3).id.value == 2);
        s.undo();
    }
}

/// After a caught collision the session can still be undone.
template <typename State>
void caught_collision() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1);
    s.add(2);
    undone(s, [&] {
        CHECK_THROWS_AS(s.set_key(a, 2), duplicate_key_error);
        s.db.modify(a, [](T& t) { t.value = 5; });
        s.set_key(a, 7);
        CHECK_THROWS_AS(s.set_key(a, 2), duplicate_key_error);
        s.db.modify(a, [](T& t) { t.value = 6; });
        REQUIRE(s.at(7) == &a);
    });
    CHECK(a.key == 1);
    CHECK(a.value == 0);
}

/// A key may be set to its own value.
template <typename State>
void same_key() {
    using T = typename State::object;
    State s;
    const T& a = s.add(1);
    s.set_key(a, 1);
    s.db.modify(a, [](T& t) {
        t.key = 2;
        t.key = 1;
        t.value = 3;
    });
    CHECK(s.at(1) == &a);
    CHECK(a.value == 3);
}

} // namespace chainbase::test
