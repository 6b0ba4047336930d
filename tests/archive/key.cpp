// The order of encoded keys is the order of the values, alone and in tuples.
#include <archive/key.hpp>

#include <compare>
#include <limits>

#include "support.hpp"

using namespace archive_test;

namespace {

int sign(std::strong_ordering order) {
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

int order_of(bytes_view a, bytes_view b) {
    return sign(as_text(a) <=> as_text(b));
}

template <typename T>
int order_of_values(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}

template <typename V>
V random_number(random_source& random) {
    if (random.one_in(4)) {
        const V edges[] = {V(0), V(1), V(-1), std::numeric_limits<V>::min(),
                           std::numeric_limits<V>::max()};
        return edges[random.below(5)];
    }
    return static_cast<V>(random.bits() >> random.below(64));
}

/// Compares `count` random pairs of values with the order of their keys, and of the descending
/// ones.
template <typename Make>
void check_order(random_source& random, int count, Make make) {
    for (int i = 0; i < count; ++i) {
        const auto a = make(random);
        const auto b = random.one_in(8) ? a : make(random);
        REQUIRE(order_of(make_key(a), make_key(b)) == order_of_values(a, b));
        REQUIRE(order_of(make_key(descending(a)), make_key(descending(b))) ==
                order_of_values(b, a));
    }
}

enum class rank : std::int8_t { low = -3, mid = 0, high = 3 };

} // namespace

TEST_CASE("numbers order as numbers") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    check_order(random, 5000, random_number<std::uint8_t>);
    check_order(random, 5000, random_number<std::int8_t>);
    check_order(random, 5000, random_number<std::uint16_t>);
    check_order(random, 5000, random_number<std::int16_t>);
    check_order(random, 5000, random_number<std::uint32_t>);
    check_order(random, 5000, random_number<std::int32_t>);
    check_order(random, 5000, random_number<std::uint64_t>);
    check_order(random, 5000, random_number<std::int64_t>);
    check_order(random, 5000, [](random_source& r) {
        return archive::detail::int128(random_number<std::int64_t>(r)) *
               random_number<std::int64_t>(r);
    });
}

TEST_CASE("bools, enums, ids and byte arrays order as what they stand for") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    check_order(random, 50, [](random_source& r) { return r.one_in(2); });
    check_order(random, 50, [](random_source& r) { return rank(int(r.below(3)) * 3 - 3); });
    check_order(random, 1000,
                [](random_source& r) { return id<post>(random_number<std::uint32_t>(r)); });
    check_order(random, 1000, [](random_source& r) {
        return std::array<std::uint8_t, 2>{std::uint8_t(r.bits()), std::uint8_t(r.below(2))};
    });
}

TEST_CASE("text orders as bytes do, zero bytes and prefixes included") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    check_order(random, 20000, [](random_source& r) { return r.text(4); });
    check_order(random, 5000, random_author);
}

TEST_CASE("tuples order by their parts, whatever text they hold") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    check_order(random, 20000, [](random_source& r) {
        return std::tuple(r.text(2), r.text(2), random_number<std::int16_t>(r));
    });
    check_order(random, 20000, [](random_source& r) {
        return std::pair(r.text(2), std::tuple(r.below(2) == 0, r.text(1)));
    });
}

TEST_CASE("a descending part orders backwards within its tuple only") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    for (int i = 0; i < 20000; ++i) {
        const auto a = std::tuple(random.text(2), random.text(2), random.below(3));
        const auto b = std::tuple(random.text(2), random.text(2), random.below(3));
        const auto key = [](const auto& t) {
            return make_key(std::get<0>(t), descending(std::get<1>(t)), std::get<2>(t));
        };
        const int expected = sign(std::tuple(std::get<0>(a), std::get<1>(b), std::get<2>(a)) <=>
                                  std::tuple(std::get<0>(b), std::get<1>(a), std::get<2>(b)));
        REQUIRE(order_of(key(a), key(b)) == expected);
    }
}

TEST_CASE("the key of the leading parts is a prefix of exactly the keys that start with them") {
    const byte_buffer alice = make_key("alice");
    CHECK(starts_with(make_key("alice", 7u), alice));
    CHECK(starts_with(make_key("alice", "permlink"), alice));
    CHECK_FALSE(starts_with(make_key("alice2", 7u), alice));
    CHECK_FALSE(starts_with(make_key(std::string("alice\0x", 7), 7u), alice));
}

TEST_CASE("the bytes of a key are those the header promises") {
    CHECK(as_text(make_key(std::uint16_t{0x0102})) == "\x01\x02");
    CHECK(as_text(make_key(std::int8_t{-1})) == "\x7f");
    CHECK(as_text(make_key(std::string("a\0b", 3))) == std::string("a\0\xff"
                                                                   "b\0\x01",
                                                                   6));
    CHECK(as_text(make_key(descending(std::string("a")))) == "\x9e\xff\xfe");
    CHECK(as_text(make_key(true, id<post>(258))) == std::string("\1\0\0\1\2", 5));
}
