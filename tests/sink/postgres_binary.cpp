#include <archive/record/integers.hpp>
#include <tools/sink/postgres/binary.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/row_changes.hpp>
#include <tests/support/seeded.hpp>

#include <bit>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::sink::postgres;
using namespace chainbase::test;

namespace {

value integer(unsigned __int128 magnitude, bool is_negative = false) {
    value made;
    made.what = value::kind::integer;
    made.magnitude = magnitude;
    made.is_negative = is_negative;
    return made;
}

std::string hex(archive::bytes_view bytes) {
    std::string text;
    for (const std::byte one : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<unsigned>(one) >> 4];
        text += digits[std::to_integer<unsigned>(one) & 15];
    }
    return text;
}

/// Without the spaces.
std::string joined(std::string text) {
    std::erase(text, ' ');
    return text;
}

std::string encoded(column_kind kind, const value& of) {
    archive::byte_buffer bytes;
    append_scalar(bytes, kind, of);
    return hex(bytes);
}

column column_of(column_kind kind, column_kind of = column_kind::big) {
    column made;
    made.kind = kind;
    made.of = of;
    return made;
}

std::string problem_of(const column& of, const archive::byte_buffer& bytes, bool is_null = false) {
    value ignored;
    return decode(of, bytes.data(), bytes.size(), is_null, ignored);
}

} // namespace

/// The bytes are what a server sends for the same numbers.
TEST_CASE("numbers have the binary form of a server") {
    constexpr auto all = ~static_cast<unsigned __int128>(0);
    CHECK(encoded(column_kind::numeric, integer(0)) == joined("00000008 0000 0000 0000 0000"));
    CHECK(encoded(column_kind::numeric, integer(10'000)) ==
          joined("0000000a 0001 0001 0000 0000 0001"));
    CHECK(encoded(column_kind::numeric, integer(12'345'678, true)) ==
          joined("0000000c 0002 0001 4000 0000 04d2 162e"));
    CHECK(encoded(column_kind::numeric, integer(100'000'001)) ==
          joined("0000000e 0003 0002 0000 0000 0001 0000 0001"));
    CHECK(encoded(column_kind::numeric, integer(all)) == // 340 2823 6692 ...
          joined("0000001c 000a 0009 0000 0000 0154 0b07 1a24 03aa 121a 18c1 11ff 10dd 1aa5 05af"));
    CHECK(encoded(column_kind::small, integer(2, true)) == "00000002fffe");
    CHECK(encoded(column_kind::integer, integer(1U << 31, true)) == "0000000480000000");
    CHECK(encoded(column_kind::big, integer(258)) == "000000080000000000000102");
    CHECK(encoded(column_kind::big, value()) == "ffffffff");
}

TEST_CASE_METHOD(seeded, "values come back from the binary form") {
    const auto back = [](column_kind kind, const value& of) {
        archive::byte_buffer bytes;
        append_scalar(bytes, kind, of);
        value found;
        REQUIRE(decode(column_of(kind), bytes.data() + 4, bytes.size() - 4, false, found).empty());
        return found;
    };
    for (int i = 0; i < 20'000; ++i) {
        unsigned __int128 bits = random.next();
        bits = (bits << 64 | random.next()) >> random.below(128);
        if (random.one_in(4)) bits -= bits % 10'000;
        if (random.one_in(50)) bits = 0;
        const value of = integer(bits, bits != 0 && random.one_in(2));
        const value found = back(column_kind::numeric, of);
        REQUIRE(found.digits() == of.digits());
    }
    for (const std::uint64_t bits : {0ULL, 0x8000'0000'0000'0000ULL, 0x7FF0'0000'0000'0001ULL,
                                     0xFFF8'1234'5678'9ABCULL, 0x7FF0'0000'0000'0000ULL}) {
        value of;
        of.what = value::kind::real;
        of.real = std::bit_cast<double>(bits);
        CHECK(std::bit_cast<std::uint64_t>(back(column_kind::real64, of).real) == bits);
    }
}

TEST_CASE("an array of any length is a parameter") {
    array_parameter numbers(column_kind::big);
    CHECK(hex(numbers.bytes()) == joined("00000000 00000000 00000014"));
    numbers.add_number(5);
    numbers.add_null();
    CHECK(
        hex(numbers.bytes()) ==
        joined("00000001 00000001 00000014 00000002 00000001 00000008 0000000000000005 ffffffff"));
    numbers.clear();
    numbers.add_number(-1);
    CHECK(hex(numbers.bytes()) ==
          joined("00000001 00000000 00000014 00000001 00000001 00000008 ffffffffffffffff"));
}

/// Whatever a server sends, nothing behind it is read (run with the address sanitizer).
TEST_CASE_METHOD(seeded, "what no sink wrote is found, whatever its bytes are") {
    value list;
    list.what = value::kind::list;
    list.elements = {integer(1), integer(2)};
    list.count = 2;
    archive::byte_buffer bytes;
    const column lists = column_of(column_kind::list);
    append_value(bytes, lists, list);
    bytes.erase(bytes.begin(), bytes.begin() + 4);
    REQUIRE(problem_of(lists, bytes).empty());
    CHECK_FALSE(problem_of(lists, bytes, true).empty());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(
            problem_of(lists, {bytes.begin(), bytes.begin() + std::ptrdiff_t(size)}).empty());
    archive::byte_buffer other = bytes;
    other[11] = std::byte{23}; // of integers
    CHECK_FALSE(problem_of(lists, other).empty());
    other = bytes;
    archive::detail::store_big(other.data() + 12, std::uint32_t{0xFFFF'FFFF});
    CHECK_FALSE(problem_of(lists, other).empty());

    const auto numeric = [](std::initializer_list<std::uint16_t> words) {
        archive::byte_buffer made(2 * words.size());
        std::byte* to = made.data();
        for (const std::uint16_t word : words)
            to = archive::detail::store_big(to, word);
        return made;
    };
    const column number = column_of(column_kind::numeric);
    CHECK(problem_of(number, numeric({1, 0, 0, 0, 7})).empty());
    CHECK_FALSE(problem_of(number, numeric({2, 0, 0, 1, 7, 5'000})).empty()); // 7.5
    CHECK_FALSE(problem_of(number, numeric({0, 0, 0xC000, 0})).empty());      // NaN
    CHECK_FALSE(problem_of(number, numeric({1, 30, 0, 0, 7})).empty());       // 7 and 120 zeros
    CHECK_FALSE(problem_of(number, numeric({9, 0, 0, 0, 7})).empty());

    for (int i = 0; i < 20'000; ++i) {
        archive::byte_buffer any(random.below(48));
        for (std::byte& one : any)
            one = std::byte(random.one_in(2) ? 0 : random.next());
        if (any.size() > 12 && random.one_in(2)) any[11] = std::byte{20};
        if (any.size() > 12 && random.one_in(2)) any[3] = std::byte{1};
        for (const column_kind kind : {column_kind::numeric, column_kind::big, column_kind::list})
            (void)problem_of(column_of(kind), any);
    }
}
