#include <pool_allocator/error.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/mutation.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

const std::vector<social::operation> social_samples{
    social::account_create{"alice"},
    social::account_create{"sixteen-letters0"},
    social::comment{"alice",
                    "first-post",
                    {},
                    "category",
                    12,
                    345,
                    1'470'182'406,
                    970'827,
                    94'552,
                    -1'000'561'744'327,
                    7},
    social::comment{"bob", std::string(231, 'p'), "alice", "first-post", 0, 1, 0, 0, 0, INT64_MIN,
                    UINT32_MAX},
    social::vote{"carol", "alice", "first-post", -10'000, -65'738'868'122'357},
    social::vote{"carol", "bob", "", INT16_MAX, INT64_MAX},
    social::custom{"alice", "follow", {std::byte{0}, std::byte{255}}},
    social::custom{{}, {}, {}},
};

const std::vector<swap::operation> swap_samples{
    swap::swap{"fee.sx",
               1657,
               {536, 4, "EOS"},
               {149'065, 4, "SXCPU"},
               {2, 4, "EOS"},
               {100'191'091, 4, "EOS"},
               {27'971'786'532, 4, "SXCPU"}},
    swap::swap{{}, UINT32_MAX, {INT64_MAX, 18, "ABCDEFG"}, {INT64_MIN, 0, "A"}, {}, {}, {}},
};

/// The input decoded and encoded again; nothing when it is refused with the promised error.
template <class Decode>
std::optional<bytes> recode(byte_view input, Decode decode) {
    try {
        return encode(decode(input));
    } catch (const damaged_error& damage) {
        REQUIRE(std::string(damage.what()).find("operation: byte ") != std::string::npos);
        return {};
    }
}

template <class Operation, class Decode>
void check_mutations(const std::vector<Operation>& samples, Decode decode) {
    const std::uint64_t seed = test_seed(20160324);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    for (const Operation& sample : samples) {
        for (int round = 0; round < 5000; ++round) {
            const bytes mutated = mutate(random, encode(sample));
            REQUIRE(recode(mutated, decode).value_or(mutated) == mutated);
        }
    }
}

} // namespace

TEST_CASE("operations decode to what was encoded") {
    for (const auto& sample : social_samples)
        CHECK(social::decode_operation(social::encode(sample)) == sample);
    for (const auto& sample : swap_samples)
        CHECK(swap::decode_operation(swap::encode(sample)) == sample);
}

TEST_CASE("an operation's bytes are these") {
    const bytes encoded = social::encode(social::vote{"bo", "al", "p", -3, 300});
    CHECK(text_of(encoded) == std::string_view("\x02\x02"
                                               "bo\x02"
                                               "al\x01"
                                               "p\x05\xd8\x04",
                                               12));
}

TEST_CASE("an operation cut at any byte is refused") {
    for (const auto& sample : social_samples) {
        const bytes whole = social::encode(sample);
        for (std::size_t size = 0; size < whole.size(); ++size)
            REQUIRE_THROWS_AS(social::decode_operation(byte_view(whole).first(size)),
                              damaged_error);
    }
    for (const auto& sample : swap_samples) {
        const bytes whole = swap::encode(sample);
        for (std::size_t size = 0; size < whole.size(); ++size)
            REQUIRE_THROWS_AS(swap::decode_operation(byte_view(whole).first(size)), damaged_error);
    }
}

TEST_CASE("mutated operations decode to themselves or throw damaged_error") {
    check_mutations(social_samples, social::decode_operation);
    check_mutations(swap_samples, swap::decode_operation);
}

TEST_CASE("values outside a member's range are refused") {
    const auto decode_as_vote = [](std::int64_t percent, std::string_view voter) {
        bytes encoded;
        byte_writer writer(encoded);
        writer.unsigned_number(2);
        writer.byte_string(bytes_of(voter));
        writer.byte_string(bytes_of("author"));
        writer.byte_string(bytes_of("permlink"));
        writer.signed_number(percent);
        writer.signed_number(1);
        return std::get<social::vote>(social::decode_operation(encoded));
    };
    CHECK(decode_as_vote(INT16_MIN, "v").percent == INT16_MIN);
    CHECK_THROWS_AS(decode_as_vote(INT16_MAX + 1, "v"), damaged_error);
    CHECK_THROWS_AS(decode_as_vote(INT16_MIN - 1, "v"), damaged_error);
    CHECK_THROWS_AS(decode_as_vote(0, "seventeen-letters"), damaged_error);
    CHECK_THROWS_AS(decode_as_vote(0, std::string_view("a\0b", 3)), damaged_error);
}

TEST_CASE("an unknown kind and a number not in its shortest form are refused") {
    CHECK_THROWS_AS(swap::decode_operation(bytes{std::byte{1}}), damaged_error);
    CHECK_THROWS_AS(social::decode_operation(bytes{std::byte{4}}), damaged_error);
    const bytes longer{std::byte{0x80}, std::byte{0}, std::byte{1}, std::byte{'a'}};
    CHECK_THROWS_AS(social::decode_operation(longer), damaged_error);
    const bytes shortest{std::byte{0}, std::byte{1}, std::byte{'a'}};
    CHECK(social::decode_operation(shortest) == social::operation(social::account_create{"a"}));
}

TEST_CASE("numbers of every length survive, longer ones than 64 bits are refused") {
    for (int shift = 0; shift < 64; ++shift) {
        for (const std::uint64_t value : {(1ull << shift) - 1, 1ull << shift, ~0ull >> shift}) {
            CHECK(codec::decode<std::uint64_t>(codec::encode(value), "n") == value);
            const auto as_signed = static_cast<std::int64_t>(value);
            CHECK(codec::decode<std::int64_t>(codec::encode(as_signed), "n") == as_signed);
            CHECK(codec::decode<std::int64_t>(codec::encode(~as_signed), "n") == ~as_signed);
        }
    }
    bytes too_long(9, std::byte{0xff});
    too_long.push_back(std::byte{2});
    CHECK_THROWS_AS(codec::decode<std::uint64_t>(too_long, "n"), damaged_error);
    CHECK_THROWS_AS(codec::decode<std::uint64_t>(bytes(100, std::byte{0xff}), "n"), damaged_error);
}
