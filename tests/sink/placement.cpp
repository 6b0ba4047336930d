#include <tools/sink/placement.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::sink;

namespace {

/// A modulus, and for each value the one digit of the remainder for which PostgreSQL 15.20 says
/// satisfies_hash_partition(TABLE, MODULUS, REMAINDER, VALUE).
using answers = std::vector<std::pair<std::uint32_t, std::string_view>>;

const answers of_integers = {
    {2, "0011110110001000100101111110111110001111100001011110010111100001001110"
        "1110110101001000001110011100111000000100100010101100000010001100110001"},
    {3, "2021011210002112112211221011012022010112210011202012220100012122221101"
        "0120101121222220010212112020212222222020121101022001121022222100122201"},
    {5, "3041431113200442221443242302142012333430444200243141301443300004242411"
        "3122303130013111331332102410022001123231434412444440234143304411440314"},
    {7, "4615060214136314635501025413423125641416143606661626563032555350203631"
        "2516245421535415321242201333405531364365250034346302041604450033005430"}};

const answers of_texts = {
    {2, "0000110100001111101000010010011101101101001010101001100100000001000001"
        "10101001000001111101010011011010100111100011110001101"},
    {3, "2220022101222200102221211220200022221100220011101121211220022222210200"
        "22022212121121212122100200201022100102011121201011011"},
    {5, "1112324333403424042324320312034222334031314322414231304431103310324330"
        "11112111244100111130304124321112114021304400100024201"},
    {7, "1116201515313364565415062022313444063314154040364431342442364614646244"
        "11451264020504460606025121204603603005311646310623454"}};

/// Of up to 64 bits, and those at limits.
std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> all;
    for (std::uint64_t i = 0; i < 128; ++i)
        all.push_back(static_cast<std::int64_t>(i * 0x9E37'79B9'7F4A'7C15) >> (i % 64));
    constexpr std::int64_t bit31 = std::int64_t{1} << 31, bit32 = std::int64_t{1} << 32;
    for (const std::int64_t edge :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, bit31 - 1, -bit31, bit31, -bit31 - 1,
          bit32 - 1, bit32, -bit32, INT64_MAX, INT64_MIN})
        all.push_back(edge);
    return all;
}

/// Of so many bytes; some have characters of 2 or of 4 of them.
std::string text_of(std::size_t bytes, int variant) {
    std::string all;
    for (std::size_t i = 0; all.size() < bytes; ++i) {
        const std::size_t left = bytes - all.size();
        if (variant == 1 && left >= 2 && i % 3 == 0)
            all += "\xc3\xa4";
        else if (variant == 2 && left >= 4 && i % 2 == 0)
            all += "\xf0\x9f\x98\x80";
        else
            all += static_cast<char>('a' +
                                     (i * 7 + static_cast<std::size_t>(variant) * 3 + bytes) % 26);
    }
    return all;
}

value of_integer(std::int64_t number) {
    value made;
    made.what = value::kind::integer;
    made.is_negative = number < 0;
    const auto bits = static_cast<std::uint64_t>(number);
    made.magnitude = number < 0 ? 0 - bits : bits;
    return made;
}

} // namespace

TEST_CASE("integers are where the partitions of PostgreSQL have them") {
    const std::vector<std::int64_t> all = integers();
    for (const auto& [shards, wanted] : of_integers) {
        std::string found;
        for (const std::int64_t one : all)
            found += static_cast<char>('0' + shard_of(of_integer(one), shards));
        CHECK(found == wanted);
        CHECK(shard_of(of_integer(5), 1) == 0);
    }
}

TEST_CASE("texts are where the partitions of PostgreSQL have them") {
    for (const auto& [shards, wanted] : of_texts) {
        std::string found;
        for (std::size_t bytes = 0; bytes <= 40; ++bytes)
            for (int variant = 0; variant < 3; ++variant) {
                const std::string text = text_of(bytes, variant);
                value one;
                one.what = value::kind::text;
                one.text = text;
                found += static_cast<char>('0' + shard_of(one, shards));
            }
        CHECK(found == wanted);
    }
}

TEST_CASE("rows are distributed by whole numbers and texts") {
    column by;
    for (const column_kind kind :
         {column_kind::small, column_kind::integer, column_kind::big, column_kind::text}) {
        by.kind = kind;
        CHECK(can_distribute(by));
    }
    by.is_nullable = true;
    CHECK_FALSE(can_distribute(by));
    by.is_nullable = false;
    for (const column_kind kind :
         {column_kind::boolean, column_kind::numeric, column_kind::real32, column_kind::real64,
          column_kind::bytes, column_kind::list, column_kind::json}) {
        by.kind = kind;
        CHECK_FALSE(can_distribute(by));
    }
}
