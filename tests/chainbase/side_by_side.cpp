// Several databases in one process, many types in one.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <cstddef>
#include <string>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("two databases in one process do not see each other") {
    one_type<item> a;
    one_type<item> b;
    a.add(1);
    b.add(1);
    auto in_a = a.db.start_session();
    auto in_b = b.db.start_session();
    // A modifier of one reads the other.
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
