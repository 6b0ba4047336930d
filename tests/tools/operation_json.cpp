#include <pool_allocator/error.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>

#include <catch2/catch.hpp>

using namespace chainbase;

namespace {

/// Every alternative of a chain's operations, with nothing in it, must be shown under its name.
template <class Operation>
std::vector<std::string> kinds_shown(std::string_view chain) {
    std::vector<std::string> kinds;
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<std::variant_size_v<Operation>>>([&](auto i) {
        const Operation one(std::in_place_index<i()>);
        const auto shown = operation_to_json(chain, encode(one));
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
    CHECK(std::ranges::equal(std::vector<std::string>{"account_create", "comment", "vote", "custom",
                                                      "deposit", "transfer", "claim",
                                                      "comment_delete"},
                             std::span(social).first(8)));
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
    const bytes raw{std::byte{0xab}, std::byte{1}};
    CHECK_FALSE(knows_operations_of("other"));
    CHECK(operation_to_json("other", raw).dump() == R"({"hex":"ab01"})");
    CHECK_NOTHROW(require_operation("other", raw));
    CHECK(knows_operations_of("payments"));
    CHECK_THROWS_AS(operation_to_json("payments", raw), damaged_error);
    CHECK_THROWS_AS(require_operation("payments", raw), damaged_error);
}
