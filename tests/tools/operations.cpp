#include <pool_allocator/base/error.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/tools/mutations.hpp>

#include <algorithm>
#include <variant>

/// Operations as bytes, as JSON, and the amounts in them as text.
using namespace chainbase;
using namespace chainbase::test;
using swap::asset;

namespace {

/// Any value of a described type, within a property.
template <class T>
T any() {
    if constexpr (std::integral<T>) {
        return *rc::gen::arbitrary<T>();
    } else if constexpr (codec::is_fixed_string<T>) {
        const auto letter = rc::gen::inRange<char>('a', 'z' + 1);
        auto text = *rc::gen::container<std::string>(letter);
        text.resize(std::min(text.size(), T::capacity));
        return T(std::string_view(text));
    } else if constexpr (std::same_as<T, std::string>) {
        return *rc::gen::arbitrary<std::string>();
    } else if constexpr (std::same_as<T, bytes>) {
        const auto raw = *rc::gen::arbitrary<std::string>();
        return {bytes_of(raw).begin(), bytes_of(raw).end()};
    } else if constexpr (codec::is_variant<T>) {
        const auto kinds = std::variant_size_v<T>;
        const auto kind = *rc::gen::inRange<std::size_t>(0, kinds);
        return boost::mp11::mp_with_index<std::variant_size_v<T>>(kind, [](auto i) {
            return T(std::in_place_index<i()>, any<std::variant_alternative_t<i(), T>>());
        });
    } else {
        T all;
        boost::mp11::mp_for_each<codec::members<T>>([&](auto member) {
            using type = std::remove_reference_t<decltype(all.*member.pointer)>;
            all.*member.pointer = any<type>();
        });
        return all;
    }
}

/// For the operations of any chain: decoding returns what was encoded; truncated ones are refused;
/// altered ones are other operations, or refused with the position.
template <class Operation, class Decode>
void check_codec(Decode decode) {
    check_property(10'000, 100, [&] {
        const auto original = any<Operation>();
        const bytes encoded = encode(original);
        RC_ASSERT(decode(encoded) == original);
        const auto size = *rc::gen::inRange<std::size_t>(0, encoded.size());
        RC_ASSERT_THROWS_AS(decode(byte_view(encoded).first(size)), damaged_error);
        const bytes altered = mutated(encoded, *some_mutations());
        try {
            RC_ASSERT(encode(decode(altered)) == altered);
        } catch (const damaged_error& damage) {
            RC_ASSERT(std::string(damage.what()).find("operation: byte ") != std::string::npos);
        }
    });
}

bytes raw(std::initializer_list<unsigned> values) {
    bytes result;
    for (const unsigned one : values)
        result.push_back(static_cast<std::byte>(one));
    return result;
}

} // namespace

TEST_CASE("any operation decodes to what was encoded; cut or altered it is refused or another") {
    check_codec<social::operation>(social::decode_operation);
    check_codec<swap::operation>(swap::decode_operation);
    check_codec<payments::operation>(payments::decode_operation);
}

TEST_CASE("an operation's bytes are these") {
    const bytes encoded = social::encode(social::vote{"bo", "al", "p", -3, 300});
    CHECK(text_of(encoded) == std::string_view("\x02\x02"
                                               "bo\x02"
                                               "al\x01"
                                               "p\x05\xd8\x04",
                                               12));
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
    CHECK_THROWS_AS(swap::decode_operation(raw({1})), damaged_error);
    CHECK_THROWS_AS(social::decode_operation(raw({8})), damaged_error);
    CHECK_THROWS_AS(social::decode_operation(raw({0x80, 0, 1, 'a'})), damaged_error);
    CHECK(social::decode_operation(raw({0, 1, 'a'})) ==
          social::operation(social::account_create{"a"}));
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

// --- as JSON ---

namespace {

/// Every alternative of a chain's operations, with nothing in it, must be shown under its name.
template <class Operation>
std::vector<std::string> kinds_shown(std::string_view chain) {
    std::vector<std::string> kinds;
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<std::variant_size_v<Operation>>>([&](auto i) {
        const auto shown = operation_to_json(chain, encode(Operation(std::in_place_index<i()>)));
        CHECK(shown.begin().key() == "kind");
        using held = std::variant_alternative_t<i(), Operation>;
        CHECK(shown.size() == 1 + boost::mp11::mp_size<codec::members<held>>::value);
        kinds.push_back(shown["kind"]);
    });
    return kinds;
}

std::string shown(const social::operation& one) {
    return operation_to_json("steem-2016", social::encode(one)).dump();
}

} // namespace

TEST_CASE("operations of every kind are shown under their names") {
    const auto social = kinds_shown<social::operation>("steem-2016");
    CHECK(social == std::vector<std::string>{"account_create", "comment", "vote", "custom",
                                             "deposit", "transfer", "claim", "comment_delete"});
    CHECK(kinds_shown<social::operation>("social") == social);
    CHECK(kinds_shown<swap::operation>("eos-swap-2022").front() == "swap");
    CHECK(kinds_shown<payments::operation>("payments").front() == "account_create");
}

TEST_CASE("members are shown by name, in their order, with their exact values") {
    CHECK(shown(social::vote{"bo", "al", "p", -3, INT64_MIN}) ==
          R"({"kind":"vote","voter":"bo","author":"al","permlink":"p","percent":-3,)"
          R"("rshares":-9223372036854775808})");
    CHECK(shown(social::custom{"al", "x", {std::byte{0}, std::byte{255}}}) ==
          R"({"kind":"custom","account":"al","id":"x","payload":"00ff"})");
    const swap::operation one =
        swap::swap{"fee.sx", 7, {536, 4, "EOS"}, {INT64_MAX, 4, "X"}, {}, {}, {}};
    const auto json = operation_to_json("eos-swap-2022", swap::encode(one));
    CHECK(json["quantity_in"].dump() == R"({"amount":536,"decimals":4,"symbol":"EOS"})");
    CHECK(json["quantity_out"]["amount"] == INT64_MAX);
}

TEST_CASE("a text that is no UTF-8 is shown in hex, without a loss") {
    const auto memo = [](const std::string& text) {
        const social::operation one = social::transfer{"al", "bo", 1, text};
        return operation_to_json("social", social::encode(one))["memo"].dump();
    };
    CHECK(memo("gr\xc3\xbc\xc3\x9f") == "\"gr\xc3\xbc\xc3\x9f\"");
    CHECK(memo("\"\n\\") == R"("\"\n\\")");
    CHECK(memo("a\xff") == R"({"hex":"61ff"})");
}

TEST_CASE("an unknown chain's operations are shown in hex, a damaged one is refused") {
    const bytes unknown = raw({0xab, 1});
    CHECK_FALSE(knows_operations_of("other"));
    CHECK(operation_to_json("other", unknown).dump() == R"({"hex":"ab01"})");
    CHECK_NOTHROW(require_operation("other", unknown));
    CHECK(knows_operations_of("payments"));
    CHECK_THROWS_AS(operation_to_json("payments", unknown), damaged_error);
    CHECK_THROWS_AS(require_operation("payments", unknown), damaged_error);
}

// --- amounts as text ---

TEST_CASE("amounts are read without loss, and written as they were read") {
    const std::vector<std::pair<const char*, asset>> good{
        {"0.0536 EOS", {536, 4, "EOS"}},
        {"1.0000 EOS", {10'000, 4, "EOS"}},
        {"0.10 A", {10, 2, "A"}},
        {"2797178.6532 SXCPU", {27'971'786'532, 4, "SXCPU"}},
        {"5 ABC", {5, 0, "ABC"}},
        {"10 A", {10, 0, "A"}},
        {"0 A", {0, 0, "A"}},
        {"0.000000000000000001 ABCDEFG", {1, 18, "ABCDEFG"}},
        {"922337203685477.5807 X", {INT64_MAX, 4, "X"}}};
    for (const auto& [text, value] : good) {
        CHECK(swap::parse_asset(text) == value);
        CHECK(to_string(value) == text);
    }
}

TEST_CASE("anything else is no amount") {
    for (const char* text : {"",
                             " ",
                             "EOS",
                             "1",
                             "1 ",
                             " EOS",
                             "1.EOS",
                             "1. EOS",
                             ".5 EOS",
                             "1.2.3 EOS",
                             "-1 EOS",
                             "+1 EOS",
                             "1e5 EOS",
                             "1 eos",
                             "1  EOS",
                             "1 EOS ",
                             "1,0 EOS",
                             "1 ABCDEFGH",
                             "1 E0S",
                             "922337203685477.5808 X",
                             "0.0000000000000000001 A",
                             "99999999999999999999 A",
                             "0x1 A"})
        CHECK_FALSE(swap::parse_asset(text).has_value());
}
