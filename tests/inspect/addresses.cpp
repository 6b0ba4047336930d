// request_guard with addresses and names that a test cannot listen at, and with malformed queries.
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/serve/request_guard.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace chainbase;
using inspect::query_string;
using inspect::request_guard;

namespace {

http_request request_to(const std::string& host, http_fields more = {}) {
    http_request request{"GET", "/api/stat", {{"Host", host}}};
    request.fields.insert(request.fields.end(), more.begin(), more.end());
    return request;
}

/// 200: admitted.
unsigned answer_of(const request_guard& guard, const http_request& request) {
    const auto stopped = guard.stop(request);
    return stopped ? stopped->status : 200;
}

} // namespace

TEST_CASE("which addresses are the loopback's and which stand for all") {
    for (const char* own : {"127.0.0.1", "127.0.0.2", "127.255.0.1", "::1"}) {
        CHECK(listen_address{own, 1}.is_loopback());
        CHECK_FALSE(listen_address{own, 1}.is_any());
    }
    for (const char* other : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fe80::1", "::2"})
        CHECK_FALSE(listen_address{other, 1}.is_loopback());
    CHECK(listen_address{"0.0.0.0", 1}.is_any());
    CHECK(listen_address{"::", 1}.is_any());
    CHECK(listen_address{"::1", 80}.text() == "[::1]:80");
}

TEST_CASE("elsewhere the given address is the name, and for all addresses any number") {
    const request_guard given({"10.1.2.3", 80}, std::nullopt);
    CHECK(answer_of(given, request_to("10.1.2.3:80")) == 200);
    CHECK(answer_of(given, request_to("10.1.2.3")) == 200); // browsers leave this port out
    CHECK(answer_of(given, request_to("localhost:80")) == 403);
    CHECK(answer_of(given, request_to("10.1.2.4:80")) == 403);
    const request_guard any({"0.0.0.0", 4711}, std::nullopt);
    for (const char* own : {"192.168.1.7:4711", "localhost:4711", "[fe80::7]:4711"})
        CHECK(answer_of(any, request_to(own)) == 200);
    CHECK(answer_of(any, request_to("node.example:4711")) == 403);
    CHECK(answer_of(any, request_to("192.168.1.7:80")) == 403);
}

TEST_CASE("a query gives back any bytes") {
    const query_string query("type=account&key=al+ice%00%ff%26&key=7&flag&=x");
    CHECK(query.value("type") == "account");
    CHECK(query.values("key") == std::vector<std::string>{std::string("al ice\0\xff&", 9), "7"});
    CHECK(query.value("flag") == "");
    CHECK_FALSE(query.value("none"));
    CHECK(query.number("none", 5, 9) == 5);
    CHECK(query_string("n=7").number("n", 5, 9) == 7);
    for (const char* wrong : {"n=10", "n=", "n=-1", "n=x", "n=99999999999999999999", "n=7 "})
        CHECK_THROWS_AS(query_string(wrong).number("n", 5, 9), usage_error);
    for (const char* wrong : {"a=%", "a=%4", "a=%zz", "%=1", "a=%+1"})
        CHECK_THROWS_AS(query_string(wrong), usage_error);
    std::string many;
    for (int i = 0; i < 65; ++i)
        many += "a=1&";
    CHECK_THROWS_AS(query_string(many), usage_error);
}
