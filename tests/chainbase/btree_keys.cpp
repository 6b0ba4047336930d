// Btree keys beside ordered keys of the same parts: one order, the same answers; iterators while
// objects change.

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

enum class shade : std::int8_t {};
enum class size : std::uint16_t {};

template <auto Part>
struct by;
template <auto Part>
struct by_tree;
struct by_all;
struct by_all_tree;
struct by_text;
struct by_text_tree;

template <auto Part, bool IsTurned>
constexpr auto turned_if() {
    if constexpr (IsTurned)
        return descending<Part>;
    else
        return Part;
}

/// A member of each type that a btree key can have. `IsTurned`: all keys descend.
template <bool IsTurned>
struct mixture {
    chainbase::id<mixture> id;
    bool yes = false;
    shade tint{};
    size width{};
    std::int8_t i8 = 0;
    std::uint8_t u8 = 0;
    std::int16_t i16 = 0;
    std::uint32_t u32 = 0;
    std::int64_t i64 = 0;
    std::uint64_t u64 = 0;
    detail::wide_integer i128 = 0;
    detail::wide_unsigned u128 = 0;
    fixed_string<16> name;
    fixed_bytes<5> digest;
    std::array<std::int16_t, 3> triple{};
    std::array<std::uint8_t, 11> octets{};
    std::array<fixed_string<8>, 2> tags;
    chainbase::id<mixture> other;
    shared_string text;
    fixed_bytes<70> wide;

    template <auto... Parts>
    struct both {
        using keys = boost::mp11::mp_append<
            chainbase::keys<ordered_unique<by_all, &mixture::i8, descending<&mixture::u32>,
                                           &mixture::name, descending<&mixture::i16>, &mixture::id>,
                            btree_unique<by_all_tree, &mixture::i8, descending<&mixture::u32>,
                                         &mixture::name, descending<&mixture::i16>, &mixture::id>,
                            ordered_unique<by_text, &mixture::i8, descending<&mixture::text>,
                                           &mixture::u8, &mixture::id>,
                            btree_unique<by_text_tree, &mixture::i8, descending<&mixture::text>,
                                         &mixture::u8, &mixture::id>>,
            chainbase::keys<ordered_non_unique<by<Parts>, turned_if<Parts, IsTurned>()>...>,
            chainbase::keys<btree_non_unique<by_tree<Parts>, turned_if<Parts, IsTurned>()>...>>;
        template <typename Compare>
        static void each(Compare&& compare) {
            compare.template operator()<by_all, by_all_tree>();
            compare.template operator()<by_text, by_text_tree>();
            (compare.template operator()<by<Parts>, by_tree<Parts>>(), ...);
        }
    };
    using all = both<&mixture::yes, &mixture::tint, &mixture::width, &mixture::i8, &mixture::u8,
                     &mixture::i64, &mixture::i128, &mixture::u128, &mixture::name,
                     &mixture::digest, &mixture::triple, &mixture::octets, &mixture::tags,
                     &mixture::other, &mixture::text, &mixture::wide>;
    using keys = typename all::keys;
    BOOST_DESCRIBE_CLASS(mixture, (),
                         (id, yes, tint, width, i8, u8, i16, u32, i64, u64, i128, u128, name,
                          digest, triple, octets, tags, other, text, wide),
                         (), ())
};

/// Mostly edges and small numbers, so that values meet.
template <typename V>
void set(V& to, random_source& random) {
    if constexpr (std::is_same_v<V, bool>) {
        to = random.chance(500);
    } else if constexpr (std::is_enum_v<V>) {
        std::underlying_type_t<V> value{};
        set(value, random);
        to = static_cast<V>(value);
    } else if constexpr (detail::is_integer<V>) {
        constexpr V top = static_cast<V>(detail::wide_unsigned{1} << (8 * sizeof(V) - 1));
        const V edges[] = {V{},
                           V{1},
                           static_cast<V>(-1),
                           top,
                           static_cast<V>(~top),
                           static_cast<V>(random.next())};
        to = edges[random.below(6)];
        if (random.chance(200)) to = static_cast<V>(to ^ static_cast<V>(random.below(4)));
    } else if constexpr (requires { to.value; }) {
        to = V(random.below(5));
    } else if constexpr (detail::is_shared_text<V>) { // many that differ behind the 32nd byte
        std::string text(random.chance(700) ? 33 : random.below(3), 'a');
        for (std::uint32_t n = random.below(4); n != 0; --n)
            text += "\0ab\xff"[random.below(4)];
        to = text;
    } else if constexpr (requires { V::fits(""); }) {
        std::string text;
        for (std::uint32_t n = random.below(V::capacity + 1); n != 0; --n)
            text += static_cast<char>(random.chance(500) ? 'a' : 1 + random.below(255));
        to = std::string_view(text);
    } else {
        for (std::size_t i = 0; i < to.size(); ++i) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(to[i])>, std::byte>)
                to[i] = static_cast<std::byte>(random.chance(500) ? 0 : random.below(256));
            else
                set(to[i], random);
        }
    }
}

template <typename T>
void set_all(T& to, random_source& random) {
    boost::mp11::mp_for_each<detail::members_of<T>>([&](auto member) {
        if (std::string_view(member.name) != "id" && random.chance(700))
            set(to.*member.pointer, random);
    });
}

template <typename T>
struct mixtures {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    mixtures() { db.add_type<T>("mixture"); }
};

const auto ids_of = std::views::transform([](const auto& one) { return one.id.value; });

template <typename T, typename Ordered, typename Flat>
void require_same(const database& db, const std::vector<T>& probes) {
    const auto ordered = db.view<T, Ordered>();
    const auto flat = db.view<T, Flat>();
    REQUIRE(std::ranges::equal(ordered | ids_of, flat | ids_of));
    REQUIRE(std::ranges::equal(std::ranges::subrange(ordered.rbegin(), ordered.rend()) | ids_of,
                               std::ranges::subrange(flat.rbegin(), flat.rend()) | ids_of));
    using parts = typename key_called<T, Flat>::template parts_of<T>;
    for (const T& probe : probes) {
        const auto compare = [&](const auto&... values) {
            const auto expected = ordered.equal_range(values...);
            const auto found = flat.equal_range(values...);
            REQUIRE(std::ranges::equal(expected | ids_of, found | ids_of));
            REQUIRE(flat.find(values...) == ordered.find(values...));
            REQUIRE(flat.count(values...) == ordered.count(values...));
            const auto lower = flat.project(ordered, ordered.lower_bound(values...));
            REQUIRE(lower == flat.lower_bound(values...));
            const auto upper = ordered.project(flat, flat.upper_bound(values...));
            REQUIRE(upper == ordered.upper_bound(values...));
        };
        compare(parts::template get<0>(probe));
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            compare(parts::template get<I>(probe)...);
        }(std::make_index_sequence<parts::count>());
    }
}

using things = mixture<false>;

} // namespace

TEMPLATE_TEST_CASE_SIG("a btree key has the order of an ordered key of the same parts", "",
                       ((bool IsTurned), IsTurned), false, true) {
    using T = mixture<IsTurned>;
    random_source random(new_seed());
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    mixtures<T> s;
    const auto compare = [&] {
        std::vector<T> probes(3);
        for (T& one : probes)
            set_all(one, random);
        for (const T& one : s.db.template objects<T>())
            if (random.chance(20)) probes.push_back(one);
        T::all::each(
            [&]<typename Ordered, typename Flat> { require_same<T, Ordered, Flat>(s.db, probes); });
    };
    for (int round = 0; round < 6; ++round) {
        for (int n = 0; n < 100; ++n)
            s.db.template create<T>([&](T& one) { set_all(one, random); });
        for (int n = 0; n < 60; ++n) {
            const auto end = static_cast<std::uint32_t>(s.db.types().front().next_id);
            const T* one = s.db.find(chainbase::id<T>(random.below(end)));
            if (!one) continue;
            if (random.chance(300))
                s.db.remove(*one);
            else
                s.db.modify(*one, [&](T& target) { set_all(target, random); });
        }
        compare();
        if (round == 3) s.db.compact();
    }
    compare();
}

TEST_CASE_METHOD(seeded, "many lookups by a btree key at once find what each finds alone") {
    mixtures<things> s;
    for (int n = 0; n < 3000; ++n)
        s.db.create<things>([&](things& one) { one.i64 = random.below(2000); });
    std::vector<std::int64_t> keys;
    for (int n = 0; n < 500; ++n)
        keys.push_back(random.below(2500) - 100);
    std::vector<const things*> found(keys.size());
    s.db.find_many<things, by_tree<&things::i64>>(keys, std::span(found));
    for (std::size_t i = 0; i < keys.size(); ++i)
        REQUIRE(found[i] == s.db.find<things, by_tree<&things::i64>>(keys[i]));
}

TEST_CASE("an iterator of a btree key stays at its object, and goes on from where that is") {
    mixtures<things> s;
    for (int n = 0; n < 500; ++n)
        s.db.create<things>([&](things& one) { one.i64 = 10 * n; });
    const auto view = s.db.view<things, by_tree<&things::i64>>();
    auto at = view.lower_bound(1000);
    for (int n = 0; n < 100; ++n) // others come before it, so that its leaf splits
        s.db.create<things>([&](things& one) { one.i64 = 999; });
    CHECK(at->i64 == 1000);
    CHECK((++at)->i64 == 1010);
    s.db.remove(*std::prev(at));
    CHECK((--at)->i64 == 999);
    s.db.modify(*at, [](things& one) { one.i64 = 2005; }); // its own key
    CHECK((++at)->i64 == 2010);
    int seen = 0;
    for (auto each = view.begin(); each != view.end();) { // removed while walking
        const things& object = *each++;
        if (object.i64 % 20 == 0) s.db.remove(object);
        ++seen;
    }
    CHECK(seen == 599);
    CHECK(std::ranges::all_of(view, [](const things& one) { return one.i64 % 20 != 0; }));
}

TEST_CASE("a value that no part of a btree key can hold is found nowhere, and is no bound") {
    mixtures<things> s;
    const auto& first = s.db.create<things>([](things& one) { one.name = "first"; });
    CHECK(s.db.contains<things, by_all_tree>(first.i8, first.u32, first.name, first.i16, first.id));
    CHECK_FALSE(s.db.contains<things, by_all_tree>(1000));
    CHECK(s.db.view<things, by_all_tree>().count(1000) == 0);
    CHECK_THROWS_AS((s.db.view<things, by_all_tree>().lower_bound(1000)), usage_error);
}

TEST_CASE("an object of another state, or one that is gone, is not removed by a btree key") {
    mixtures<things> s;
    const mixtures<things> other;
    const things& kept = s.db.create<things>([](things& one) { one.name = "kept"; });
    const things& gone = s.db.create<things>([](things& one) { one.name = "gone"; });
    s.db.remove(gone);
    CHECK_THROWS_AS(s.db.remove(gone), usage_error);
    CHECK_THROWS_AS(const_cast<database&>(other.db).remove(kept), usage_error);
    s.db.compact(); // cuts the file before the slot of the one that is gone
    CHECK_THROWS_AS(s.db.remove(gone), usage_error);
    CHECK(s.db.count<things>() == 1);
}
