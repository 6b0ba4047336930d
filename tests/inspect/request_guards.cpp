// Who may look at the web page: names, origins and tokens.

#include <pool_allocator/error.hpp>
#include <tools/inspect/serve/request_guard.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using inspect::access_token;
using inspect::query_string;
using inspect::request_guard;
namespace fs = std::filesystem;

namespace {

const listen_address loopback{"127.0.0.1", 4711};

http_request request_to(const std::string& host, http_fields more = {}) {
    http_request request{"GET", "/api/stat", {{"Host", host}}};
    request.fields.insert(request.fields.end(), more.begin(), more.end());
    return request;
}

/// 200 stands for: go on.
unsigned answer_of(const request_guard& guard, const http_request& request) {
    const auto stopped = guard.stop(request);
    return stopped ? stopped->status : 200;
}

fs::path token_file(const scratch_folder& in, const std::string& content, fs::perms mode) {
    const fs::path file = in / "token";
    fs::remove(file);
    std::ofstream(file) << content;
    fs::permissions(file, mode);
    return file;
}

constexpr auto owner_only = fs::perms::owner_read | fs::perms::owner_write;

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

TEST_CASE("on the loopback only its own names with its port are answered") {
    const request_guard guard(loopback, std::nullopt);
    for (const char* own : {"127.0.0.1:4711", "localhost:4711", "[::1]:4711"})
        CHECK(answer_of(guard, request_to(own)) == 200);
    for (const char* foreign :
         {"127.0.0.1", "localhost", "127.0.0.1:4712", "evil.example:4711", "evil.example",
          "localhost.evil.example:4711", "127.0.0.1.evil.example:4711", "127.0.0.2:4711", ":4711",
          "", "10.0.0.1:4711", "127.0.0.1:04711", "127.0.0.1:4711 ", "::1:4711"}) {
        INFO(foreign);
        CHECK(answer_of(guard, request_to(foreign)) == 403);
    }
    CHECK(answer_of(guard, {"GET", "/", {}}) == 400);
    CHECK(answer_of(guard, request_to("127.0.0.1:4711", {{"host", "localhost:4711"}})) == 400);
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

TEST_CASE("requests that pages of other sites make are refused") {
    const request_guard guard(loopback, std::nullopt);
    const auto with = [&](const char* field, const char* value) {
        return answer_of(guard, request_to("127.0.0.1:4711", {{field, value}}));
    };
    CHECK(with("Origin", "http://127.0.0.1:4711") == 200);
    CHECK(with("origin", "http://localhost:4711") == 200);
    for (const char* foreign : {"https://evil.example", "http://127.0.0.1:80", "null", "",
                                "https://127.0.0.1:4711", "http://127.0.0.1:4711.evil.example"})
        CHECK(with("Origin", foreign) == 403);
    CHECK(with("Sec-Fetch-Site", "same-origin") == 200);
    CHECK(with("Sec-Fetch-Site", "none") == 200); // typed, or a bookmark
    CHECK(with("Sec-Fetch-Site", "cross-site") == 403);
    CHECK(with("Sec-Fetch-Site", "same-site") == 403); // another port of this machine
}

TEST_CASE("with a token nothing is answered without it") {
    const access_token token = access_token::random();
    const request_guard guard(loopback, token);
    const auto with = [&](const char* field, const std::string& value) {
        return answer_of(guard, request_to("127.0.0.1:4711", {{field, value}}));
    };
    CHECK(answer_of(guard, request_to("127.0.0.1:4711")) == 401);
    CHECK(with("Authorization", "Bearer " + token.text()) == 200);
    CHECK(with("Authorization", token.text()) == 401);
    CHECK(with("Authorization", "Bearer " + access_token::random().text()) == 401);
    CHECK(with("Authorization", "Bearer ") == 401);
    CHECK(with("Cookie", "a=b; chainbase-inspect-4711=" + token.text()) == 200);
    CHECK(with("Cookie", "chainbase-inspect-4711=" + token.text() + "; c=d") == 200);
    CHECK(with("Cookie", "chainbase-inspect-4712=" + token.text()) == 401);
    CHECK(with("Cookie", "xchainbase-inspect-4711=" + token.text()) == 401);
    CHECK(with("Cookie", "chainbase-inspect-4711=" + token.text() + "0") == 401);
    // Whoever has the token is no page of another site for that.
    CHECK(answer_of(guard, request_to("evil.example:4711",
                                      {{"Authorization", "Bearer " + token.text()}})) == 403);
}

TEST_CASE("a visit with the token leaves it in a cookie and out of the address") {
    const access_token token = access_token::random();
    const request_guard guard(loopback, token);
    const auto visit = [&](const std::string& target) {
        return guard.stop({"GET", target, {{"Host", "127.0.0.1:4711"}}});
    };
    const auto answer = visit("/?token=" + token.text());
    REQUIRE(answer);
    CHECK(answer->status == 303);
    const http_fields wanted{{"Location", "/"},
                             {"Set-Cookie", "chainbase-inspect-4711=" + token.text() +
                                                "; Path=/; HttpOnly; SameSite=Strict"}};
    CHECK(answer->fields == wanted);
    for (const std::string& wrong :
         {std::string("/?token="), "/?token=" + token.text().substr(1), "/?x=" + token.text(),
          std::string("/?token=%zz"), "/api/stat?token=" + token.text()}) {
        INFO(wrong);
        CHECK(visit(wrong)->status == 401);
    }
}

TEST_CASE("a random token has 128 bits and is never the same") {
    const access_token one = access_token::random();
    CHECK(one.text().size() == 32);
    CHECK(one.text().find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK_FALSE(one.is(access_token::random().text()));
    CHECK(one.is(one.text()));
    CHECK_FALSE(one.is(""));
}

TEST_CASE("a token is read from a file that nobody else can read") {
    const scratch_folder scratch;
    const std::string good = "0123456789-abcdef_XYZ0";
    CHECK(access_token::read(token_file(scratch, good + "\n", owner_only)).text() == good);
    CHECK(access_token::read(token_file(scratch, good, fs::perms::owner_read)).is(good));
    for (const auto open : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write})
        CHECK_THROWS_AS(access_token::read(token_file(scratch, good, owner_only | open)),
                        access_error);
    for (const std::string& wrong : {std::string(), std::string("short"), good + " ", good + "=",
                                     "\n" + good, std::string(257, 'a')})
        CHECK_THROWS_AS(access_token::read(token_file(scratch, wrong, owner_only)), usage_error);
    CHECK(access_token::read(token_file(scratch, std::string(256, 'a'), owner_only))
              .is(std::string(256, 'a')));
    CHECK_THROWS_AS(access_token::read(scratch / "missing"), io_error);
    CHECK_THROWS_AS(access_token::read(scratch.path()), usage_error);
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
