#include <tools/chains/swap/operations.hpp>

#include <catch2/catch.hpp>

using namespace chainbase::swap;

TEST_CASE("amounts are read without loss") {
    CHECK(parse_asset("0.0536 EOS") == asset{536, 4, "EOS"});
    CHECK(parse_asset("2797178.6532 SXCPU") == asset{27'971'786'532, 4, "SXCPU"});
    CHECK(parse_asset("5 ABC") == asset{5, 0, "ABC"});
    CHECK(parse_asset("0 A") == asset{0, 0, "A"});
    CHECK(parse_asset("0.000000000000000001 ABCDEFG") == asset{1, 18, "ABCDEFG"});
    CHECK(parse_asset("922337203685477.5807 X") == asset{INT64_MAX, 4, "X"});
}

TEST_CASE("amounts are written as they were read") {
    for (const char* text : {"0.0536 EOS", "1.0000 EOS", "5 ABC", "0 A", "0.000000000000000001 A",
                             "922337203685477.5807 X", "10 A", "0.10 A"})
        CHECK(to_string(parse_asset(text).value()) == text);
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
        CHECK_FALSE(parse_asset(text).has_value());
}
