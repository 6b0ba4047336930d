// Objects read through the catalogue alone: the same ones, in the same order, as their program
// sees.
#include <chainbase/database.hpp>
#include <chainbase/rows/type_rows.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using inspect::row_query;
using inspect::row_source;

namespace {

using words = std::vector<std::string>;
using ids = std::vector<std::uint32_t>;

void add_types(database& db) {
    db.add_type<account>("account");
    db.add_type<post>("post");
    db.add_type<stake>("stake");
    db.add_type<token>("token");
}

/// Objects of which many have the same keys, some removed, in no order.
void fill(database& db, random_source& random, std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
        db.create<account>([&](account& a) {
            a.name = std::string_view(std::to_string(random.next() % 100'000'000'000));
            a.balance = std::int64_t{random.below(40)} - 20;
            a.number = random.next();
            a.group = random.below(5);
        });
        db.create<post>([&](post& p) {
            p.author = "author " + std::to_string(random.below(30));
            p.permlink = random_text(random) + std::to_string(n);
            p.body = random.chance(300) ? "same" : random_text(random);
        });
        db.create<stake>([&](stake& s) {
            s.owner = n;
            s.score = std::int64_t{random.below(9)} - 4;
            s.weight = random.below(4);
        });
        db.create<token>([&](token& t) {
            t.code = n * 7;
            t.kind = random.below(6);
        });
    }
    for (std::uint32_t n = 0; n < count / 3; ++n) {
        const std::uint32_t gone = random.below(count);
        if (const auto* a = db.find(id<account>(gone))) db.remove(*a);
        if (const auto* p = db.find(id<post>(gone))) db.remove(*p);
        if (const auto* s = db.find(id<stake>(gone))) db.remove(*s);
        if (const auto* t = db.find(id<token>(gone))) db.remove(*t);
    }
}

template <typename View>
ids ids_of(const View& view) {
    ids all;
    for (const auto& object : view)
        all.push_back(object.id.value);
    return all;
}

/// What a cursor visits, in slices of a random length.
ids visited(row_source& from, const row_query& query, random_source& random) {
    ids all;
    const auto cursor = query.cursor(from);
    for (bool more = true; more;)
        from.take_turn([&] {
            const rows::type_rows of = from.of(query.type);
            std::uint32_t left = 1 + random.below(50);
            more = cursor->advance(of, [&](slot_number slot) {
                all.push_back(of.slots().id(slot));
                return --left != 0;
            });
        });
    return all;
}

template <typename Iterator>
ids ids_of(const std::pair<Iterator, Iterator>& range) {
    return ids_of(std::ranges::subrange(range.first, range.second));
}

ids reversed(ids all) {
    std::reverse(all.begin(), all.end());
    return all;
}

std::uint32_t id_in(const std::string& json) {
    return static_cast<std::uint32_t>(std::stoul(json.substr(json.find(':') + 1)));
}

ids found(row_source& from, const std::string& type, const std::string& key, const words& parts) {
    ids all;
    for (const std::string& row : inspect::find_rows(from, type, key, parts).json)
        all.push_back(id_in(row));
    return all;
}

template <typename T, typename Tag>
void require_same_order(const database& db, row_source& from, const std::string& type,
                        const std::string& key, random_source& random) {
    INFO(type << " " << key);
    const ids wanted = ids_of(db.view<T, Tag>());
    REQUIRE(visited(from, {type, key, {}, {}, {}, false}, random) == wanted);
    REQUIRE(visited(from, {type, key, {}, {}, {}, true}, random) == reversed(wanted));
}

struct filled_state {
    explicit filled_state(std::uint64_t seed) : random(seed) {
        database db(folder / "state", quick_options());
        add_types(db);
        fill(db, random, 700);
    }

    scratch_folder folder;
    random_source random;
};

} // namespace

TEST_CASE("rows: every ordered key is gone through as its program does, in slices of any length") {
    const std::uint64_t seed = test_seed(61);
    INFO("seed " << seed);
    filled_state made(seed);
    database db(made.folder / "state", quick_options(open_mode::read_only));
    add_types(db);
    row_source from(made.folder / "state");
    random_source& random = made.random;
    require_same_order<account, by_name>(db, from, "account", "by_name", random);
    require_same_order<account, by_balance>(db, from, "account", "by_balance", random);
    require_same_order<account, by_group>(db, from, "account", "by_group", random);
    require_same_order<account, by_distance>(db, from, "account", "by_distance", random);
    require_same_order<post, by_link>(db, from, "post", "by_link", random);
    require_same_order<post, by_body>(db, from, "post", "by_body", random);
    require_same_order<stake, by_score>(db, from, "stake", "by_score", random);
    require_same_order<stake, by_weight>(db, from, "stake", "by_weight", random);
    const ids tokens = ids_of(db.objects<token>());
    REQUIRE(visited(from, {"token", "id", {}, {}, {}, false}, random) == tokens);
    REQUIRE(visited(from, {"token", "id", {}, {}, {}, true}, random) == reversed(tokens));
}

TEST_CASE("rows: each object is found by each of its keys, with those that share it") {
    const std::uint64_t seed = test_seed(62);
    INFO("seed " << seed);
    filled_state made(seed);
    database db(made.folder / "state", quick_options(open_mode::read_only));
    add_types(db);
    row_source from(made.folder / "state");
    for (const account& a : db.objects<account>()) {
        const ids alone{a.id.value};
        REQUIRE(found(from, "account", "id", {std::to_string(a.id.value)}) == alone);
        REQUIRE(found(from, "account", "by_name", {std::string(a.name.view())}) == alone);
        REQUIRE(found(from, "account", "by_number", {std::to_string(a.number)}) == alone);
        REQUIRE(found(from, "account", "by_balance",
                      {std::to_string(a.balance), std::to_string(a.id.value)}) == alone);
    }
    for (const post& p : db.objects<post>()) {
        const std::string author(p.author.view());
        const std::string link(p.permlink.view());
        const ids alone{p.id.value};
        REQUIRE(found(from, "post", "by_link", {author, link}) == alone);
        REQUIRE(found(from, "post", "by_address", {link, author}) == alone);
        REQUIRE(found(from, "post", "by_author", {author}) ==
                ids_of(db.view<post, by_author>().equal_range(author)));
        REQUIRE(found(from, "post", "by_body", {std::string(p.body.view())}) ==
                ids_of(db.view<post, by_body>().equal_range(p.body.view())));
    }
    for (const token& t : db.objects<token>())
        REQUIRE(found(from, "token", "by_kind", {std::to_string(t.kind)}) ==
                ids_of(db.view<token, by_kind>().equal_range(t.kind)));
    REQUIRE(found(from, "account", "by_number", {"1"}).empty());
    REQUIRE(found(from, "post", "by_author", {"author 31"}).empty());
    REQUIRE(found(from, "token", "id", {"4294967295"}).empty());
}

TEST_CASE("rows: leading parts and bounds, both ways") {
    const std::uint64_t seed = test_seed(63);
    INFO("seed " << seed);
    filled_state made(seed);
    database db(made.folder / "state", quick_options(open_mode::read_only));
    add_types(db);
    row_source from(made.folder / "state");
    random_source& random = made.random;
    for (int author = 0; author < 30; ++author) {
        const std::string name = "author " + std::to_string(author);
        const ids wanted = ids_of(db.view<post, by_link>().equal_range(name));
        REQUIRE(visited(from, {"post", "by_link", {name}, {}, {}, false}, random) == wanted);
        REQUIRE(visited(from, {"post", "by_link", {name}, {}, {}, true}, random) ==
                reversed(wanted));
    }
    for (std::uint32_t low = 0; low < 6; ++low)
        for (std::uint32_t high = low; high < 6; ++high) {
            ids wanted;
            for (const account& a : db.view<account, by_group>())
                if (a.group >= low && a.group <= high) wanted.push_back(a.id.value);
            const row_query query{
                "account", "by_group", {}, {std::to_string(low)}, {std::to_string(high)}, false};
            REQUIRE(visited(from, query, random) == wanted);
            row_query backwards = query;
            backwards.is_reverse = true;
            REQUIRE(visited(from, backwards, random) == reversed(wanted));
        }
    // A descending key begins with the largest.
    const ids rich = visited(from, {"account", "by_balance", {}, {"3"}, {"1"}, false}, random);
    ids wanted;
    for (const account& a : db.view<account, by_balance>())
        if (a.balance <= 3 && a.balance >= 1) wanted.push_back(a.id.value);
    REQUIRE(rich == wanted);
    REQUIRE_FALSE(rich.empty());
    REQUIRE(visited(from, {"token", "id", {}, {"100"}, {"104"}, false}, random).size() <= 5);
}

TEST_CASE("rows: where a slice ended may go away or move, and the rest is visited once") {
    const std::uint64_t seed = test_seed(65);
    INFO("seed " << seed);
    for (const bool is_reverse : {false, true}) {
        filled_state made(seed);
        database db(made.folder / "state", quick_options());
        add_types(db);
        row_source from(made.folder / "state");
        ids expected = ids_of(db.view<account, by_group>());
        if (is_reverse) expected = reversed(expected);
        ids seen;
        const auto cursor = row_query{"account", "by_group", {}, {}, {}, is_reverse}.cursor(from);
        for (bool more = true; more;) {
            from.take_turn([&] {
                const rows::type_rows of = from.of("account");
                std::uint32_t left = 1 + made.random.below(20);
                more = cursor->advance(of, [&](slot_number slot) {
                    seen.push_back(of.slots().id(slot));
                    return --left != 0;
                });
            });
            if (!more) break;
            db.with_write_lock([&] {
                const account& last = db.get(id<account>(seen.back()));
                if (made.random.chance(500))
                    db.remove(last);
                else // to where it was before
                    db.modify(last, [&](account& a) { a.group = is_reverse ? 9 : 0; });
            });
        }
        REQUIRE(seen == expected);
    }
}

TEST_CASE("rows: what cannot be asked for is refused by name") {
    filled_state made(64);
    row_source from(made.folder / "state");
    const auto asking = [&](const std::string& type, const std::string& key, const words& parts) {
        try {
            (void)inspect::find_rows(from, type, key, parts);
        } catch (const usage_error& e) {
            return std::string(e.what());
        }
        return std::string("nothing");
    };
    using Catch::Contains;
    CHECK_THAT(asking("acount", "id", {"1"}), Contains("it has account, post, stake, token"));
    CHECK_THAT(asking("account", "by_nam", {"x"}), Contains("it has id, by_name, by_balance"));
    CHECK_THAT(asking("account", "id", {"-1"}), Contains("\"-1\" is no id"));
    CHECK_THAT(asking("account", "id", {"1", "2"}), Contains("is no id"));
    CHECK_THAT(asking("account", "by_name", {"seventeen letters"}), Contains("no value of name"));
    CHECK_THAT(asking("account", "by_number", {"18446744073709551616"}), Contains("of type u64"));
    CHECK_THAT(asking("account", "by_group", {"4294967296"}), Contains("of type u32"));
    CHECK_THAT(asking("account", "by_group", {"1", "2"}), Contains("has 1 parts, 2 were given"));
    CHECK_THAT(asking("account", "by_balance", {"1"}), Contains("use range"));
    CHECK_THAT(asking("account", "by_distance", {"1", "2"}), Contains("computed by a function"));
    CHECK_THROWS_AS((row_query{"account", "by_number", {}, {}, {}, false}.cursor(from)),
                    usage_error);
}
