// The web page over real sockets, and clients that are wrong, broken or hostile.

#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/serve/state_page.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/trace/http_client.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using inspect::page_options;
using inspect::state_page;
using nlohmann::json;

namespace {

struct parcel {
    chainbase::id<parcel> id;
    std::int64_t weight = 0;

    using keys = chainbase::keys<chainbase::ordered_unique<struct by_weight, &parcel::weight>>;
};
BOOST_DESCRIBE_STRUCT(parcel, (), (id, weight))

std::string host_of(const state_page& page) {
    return "127.0.0.1:" + std::to_string(page.address().port);
}

/// The whole answer to one request. `more`: fields, each with its line end.
std::string ask(const state_page& page, const std::string& target, const std::string& more = {},
                const std::string& method = "GET") {
    const http_client client(page.address().port);
    client.send(method + " " + target + " HTTP/1.1\r\nHost: " + host_of(page) + "\r\n" + more +
                "Connection: close\r\n\r\n");
    return client.rest();
}

json object_of(const std::string& answer) {
    const json object = json::parse(body_of(answer));
    CHECK_THAT(body_of(answer),
               StartsWith("{\"schema_version\":1") || StartsWith("{\n \"schema_version\": 1"));
    return object;
}

json ask_for(const state_page& page, const std::string& target) {
    const std::string answer = ask(page, target);
    CHECK_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    CHECK_THAT(answer, Contains("Content-Type: application/json\r\n"));
    return object_of(answer);
}

void check_refused(const std::string& answer, const std::string& status) {
    INFO(answer);
    CHECK_THAT(answer, StartsWith("HTTP/1.1 " + status + " "));
    CHECK(object_of(answer).at("error").is_string());
}

/// Asks until the answer is as wanted, for at most ten seconds.
template <typename Wanted>
json eventually(const state_page& page, const std::string& target, Wanted&& is_wanted) {
    json found;
    for (int i = 0; i < 100; ++i) {
        found = ask_for(page, target);
        if (is_wanted(found)) return found;
        std::this_thread::sleep_for(100ms);
    }
    return found;
}

struct served_state {
    scratch_folder scratch;
    std::filesystem::path state = scratch / "state";
    sample_counts made = build_sample_state(state);
};

} // namespace

TEST_CASE("serve: each path of the API gives its object") {
    const served_state of;
    const folder_image before = image_of(of.state);
    const state_page page(of.state, {});

    const json stat = ask_for(page, "/api/stat");
    CHECK(stat.at("condition") == "closed");
    CHECK(stat.at("types").at(0).at("objects") == of.made.accounts);

    const json sample = ask_for(page, "/api/sample");
    CHECK(sample.at("types") == json({"account", "post", "token", "marker"}));
    const json& now = sample.at("sample");
    CHECK(now.at("error").is_null());
    CHECK(now.at("revision") == of.made.revision);
    CHECK(now.at("irreversible_revision") == of.made.irreversible);
    CHECK(now.at("objects").at(0) == of.made.accounts);
    CHECK(now.at("archive").is_null());
    const json& memory = now.at("memory");
    std::uint64_t sum = memory.at("header").get<std::uint64_t>() +
                        memory.at("log").get<std::uint64_t>() +
                        memory.at("buffers").get<std::uint64_t>();
    for (const json& type : memory.at("types"))
        sum += type.get<std::uint64_t>();
    CHECK(memory.at("total") == sum);
    CHECK(memory.at("files") == stat.at("total").at("files"));

    const json history = ask_for(page, "/api/history");
    REQUIRE_FALSE(history.at("samples").empty());
    const auto last = history.at("samples").back().at("number").get<std::uint64_t>();
    CHECK(history.at("samples").front().at("number") == 1);
    const json later = eventually(page, "/api/history?after=" + std::to_string(last),
                                  [](const json& found) { return !found.at("samples").empty(); });
    REQUIRE_FALSE(later.at("samples").empty());
    CHECK(later.at("samples").front().at("number") == last + 1);
    CHECK(later.at("begun") == history.at("begun"));

    CHECK(ask_for(page, "/api/locks").at("readers").empty());
    const json schema = ask_for(page, "/api/schema");
    REQUIRE(schema.at("types").size() == 4);
    CHECK(schema.at("types").at(0).at("fields").at(0).at("name") == "id");
    CHECK(schema.at("types").at(0).at("indexes").at(0).at("name") == "by_name");
    const json archive = ask_for(page, "/api/archive");
    CHECK(archive.at("store").is_null());
    CHECK_THAT(archive.at("refusal").get<std::string>(), Contains("archive"));
    CHECK(image_of(of.state) == before);
}

TEST_CASE("serve: rows are found by key, and what is asked wrongly is told") {
    const served_state of;
    const state_page page(of.state, {});
    const json rows = ask_for(page, "/api/rows?type=account&limit=3");
    REQUIRE(rows.at("rows").size() == 3);
    CHECK(rows.at("more") == true);
    const json next = ask_for(page, "/api/rows?type=account&limit=3&after=" +
                                        std::to_string(rows.at("after").get<std::uint32_t>()));
    CHECK(next.at("rows").at(0).at("id") > rows.at("rows").at(2).at("id"));
    const std::string name = rows.at("rows").at(1).at("name");
    const json found = ask_for(page, "/api/rows?type=account&index=by_name&key=" + name);
    REQUIRE(found.at("rows").size() == 1);
    CHECK(found.at("rows").at(0) == rows.at("rows").at(1));
    const json placed = ask_for(page, "/api/rows?type=account&archive=1&limit=3");
    REQUIRE(placed.at("rows").size() == 3);
    CHECK(placed.at("rows").at(1) == json({{"row", rows.at("rows").at(1)}, {"archived", false}}));
    for (const char* wrong :
         {"", "?type=account&archive=2", "?type=none", "?type=account&index=none",
          "?type=account&key=x", "?type=account&limit=x", "?type=account&limit=1001",
          "?type=account&after=4294967296", "?type=account&reverse=2",
          "?type=account&index=by_name&key=a&key=b&key=c&key=d"}) {
        INFO(wrong);
        check_refused(ask(page, std::string("/api/rows") + wrong), "400");
    }
}

TEST_CASE("serve: the page has all that it needs, and every answer its protection") {
    const served_state of;
    const state_page page(of.state, {});
    const std::string start = ask(page, "/");
    CHECK_THAT(start, StartsWith("HTTP/1.1 200 OK\r\n") && Contains("<title>chainbase</title>"));
    CHECK_THAT(start, !Contains("<style") && !Contains("style=") && !Contains("onclick"));
    CHECK_THAT(ask(page, "/app.js"), Contains("Content-Type: text/javascript"));
    CHECK_THAT(ask(page, "/style.css"), Contains("Content-Type: text/css"));
    CHECK_THAT(ask(page, "/uplot.js"), Contains("export { uPlot as default };"));
    for (const std::string& answer : {start, ask(page, "/none"), ask(page, "/api/stat"),
                                      ask(page, "/", "Host: x\r\n"), ask(page, "/", "", "POST")}) {
        for (const char* field :
             {"Content-Security-Policy: default-src 'self';", "X-Content-Type-Options: nosniff",
              "X-Frame-Options: DENY", "Referrer-Policy: no-referrer", "Cache-Control: no-store",
              "Cross-Origin-Resource-Policy: same-origin"})
            CHECK_THAT(answer, Contains(field));
        CHECK_THAT(answer, !Contains("unsafe-inline") && !Contains("Access-Control"));
    }
}

TEST_CASE("serve: what there is not and what is asked wrongly is refused as JSON") {
    const served_state of;
    const state_page page(of.state, {});
    for (const char* path : {"/none", "/api", "/api/", "/api/none", "/api/stat/", "/../etc/passwd",
                             "/%2e%2e/etc/passwd", "//api/stat", "/index.html", "*"})
        check_refused(ask(page, path), "404");
    check_refused(ask(page, "/api/history?after=x"), "400");
    check_refused(ask(page, "/api/history?after=%zz"), "400");
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"}) {
        const std::string answer = ask(page, "/api/stat", "", method);
        CHECK_THAT(answer, StartsWith("HTTP/1.1 405 ") && Contains("Allow: GET, HEAD\r\n"));
    }
    const std::string head = ask(page, "/api/stat", "", "HEAD");
    CHECK_THAT(head, StartsWith("HTTP/1.1 200 ") && Contains("Content-Length: "));
    CHECK(body_of(head).empty());
}

TEST_CASE("serve: other hosts and cross-site requests are refused") {
    const served_state of;
    const state_page page(of.state, {});
    const auto as = [&](const std::string& host) {
        const http_client client(page.address().port);
        client.send("GET /api/stat HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
        return client.rest();
    };
    const std::string port = ":" + std::to_string(page.address().port);
    CHECK_THAT(as("localhost" + port), StartsWith("HTTP/1.1 200 "));
    check_refused(as("evil.example" + port), "403");
    check_refused(as("127.0.0.1"), "403");
    check_refused(ask(page, "/api/stat", "Origin: http://evil.example\r\n"), "403");
    check_refused(ask(page, "/api/stat", "Sec-Fetch-Site: cross-site\r\n"), "403");
    check_refused(ask(page, "/", "Sec-Fetch-Site: cross-site\r\n"), "403");
    CHECK_THAT(ask(page, "/api/stat", "Origin: http://" + host_of(page) + "\r\n"),
               StartsWith("HTTP/1.1 200 "));
    const http_client nameless(page.address().port);
    nameless.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    check_refused(nameless.rest(), "400");
}

TEST_CASE("serve: huge requests are cut, and others are served") {
    const served_state of;
    const state_page page(of.state, {});
    const auto check_cut = [&](const std::string& begin, const std::string& more) {
        const http_client client(page.address().port);
        bool is_taken = client.send(begin);
        for (std::size_t sent = 0; is_taken && sent < 20'000'000; sent += more.size())
            is_taken = client.send(more);
        CHECK_FALSE(is_taken);
        CHECK(ask_for(page, "/api/locks").at("checked") == false);
    };
    const std::string megabyte(1 << 20, 'a');
    check_cut("GET / HTTP/1.1\r\nX: ", megabyte);        // a header
    check_cut("GET /", megabyte);                        // an address
    check_cut("", megabyte);                             // a method
    check_cut("GET / HTTP/1.1\r\n", "X-Y: 1234567\r\n"); // fields
    const std::string body = ask(page, "/api/stat", "Content-Length: 5\r\n", "GET") +
                             ask(page, "/", "Transfer-Encoding: chunked\r\n");
    CHECK_THAT(body, !Contains("schema_version") && !Contains("<title>"));
    CHECK_THAT(body, StartsWith("HTTP/1.1 4"));
}

TEST_CASE("serve: slow clients are hung up on, and others are served meanwhile") {
    const served_state of;
    page_options options;
    options.limits.patience = 300ms;
    const state_page page(of.state, options);
    const http_client silent(page.address().port);
    const http_client slow(page.address().port);
    // Asks, and takes no answers: they fill the buffers of the kernel, and then it is too slow.
    const http_client greedy(page.address().port);
    bool is_taken = true;
    for (int i = 0; i < 2000 && is_taken; ++i)
        is_taken = greedy.send("GET /uplot.js HTTP/1.1\r\nHost: " + host_of(page) + "\r\n\r\n");
    for (int i = 0; i < 300; ++i) {
        if (!slow.send("G")) break;
        std::this_thread::sleep_for(10ms);
        if (i % 50 == 0) CHECK(ask_for(page, "/api/locks").at("readers").empty());
    }
    CHECK_FALSE(slow.send("G"));
    CHECK(silent.rest().empty());
    (void)greedy.rest(); // comes to an end
}

TEST_CASE("serve: more connections than allowed are closed, and room comes back") {
    const served_state of;
    page_options options;
    options.limits.connections = 8;
    options.limits.patience = 400ms;
    const state_page page(of.state, options);
    std::vector<std::unique_ptr<http_client>> idle;
    for (int i = 0; i < 40; ++i)
        idle.push_back(std::make_unique<http_client>(page.address().port));
    for (const auto& one : idle)
        CHECK(one->rest().empty());
    CHECK(ask_for(page, "/api/sample").at("sample").at("number") >= 1);
}

TEST_CASE("serve: with a token only who has it is answered") {
    const served_state of;
    page_options options;
    options.token = inspect::access_token::random();
    const std::string token = options.token->text();
    const state_page page(of.state, options);
    CHECK(page.url() == "http://" + host_of(page) + "/"); // whoever made it knows it
    for (const char* path : {"/", "/app.js", "/api/stat", "/none"})
        check_refused(ask(page, path), "401");
    CHECK_THAT(ask(page, "/api/stat", "Authorization: Bearer " + token + "\r\n"),
               StartsWith("HTTP/1.1 200 "));
    const std::string visit = ask(page, "/?token=" + token);
    CHECK_THAT(visit, StartsWith("HTTP/1.1 303 ") && Contains("Location: /\r\n"));
    const std::size_t begin = visit.find("Set-Cookie: ") + 12;
    const std::string cookie = visit.substr(begin, visit.find(';', begin) - begin);
    CHECK_THAT(ask(page, "/", "Cookie: " + cookie + "\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_CASE("serve: at every address of the machine a token is needed and told") {
    const served_state of;
    page_options options;
    options.listen = listen_address::parse("0.0.0.0:0");
    const state_page page(of.state, options);
    CHECK_THAT(page.url(), StartsWith("http://" + host_of(page) + "/?token="));
    check_refused(ask(page, "/"), "401");
    CHECK_THAT(ask(page, page.url().substr(page.url().find("/?"))), StartsWith("HTTP/1.1 303 "));
}

TEST_CASE("serve: a writer that comes, dies, and a state that goes away are shown") {
    const served_state of;
    const state_page page(of.state, {});
    const auto condition_is = [](const char* wanted) {
        return [wanted](const json& found) {
            const json& sample = found.at("sample");
            return sample.contains("condition") && sample.at("condition") == wanted;
        };
    };
    {
        writer_process writer(of.state);
        const json running = eventually(page, "/api/sample", condition_is("writer_running"));
        CHECK(running.at("sample").at("writer") == std::to_string(writer.process()));
        CHECK(running.at("sample").at("locks").at("writer_alive") == true);
        const json busy = eventually(page, "/api/sample", [](const json& found) {
            const json& rates = found.at("sample").at("rates");
            return rates.is_object() && rates.at("operations") > 0;
        });
        CHECK(busy.at("sample").at("rates").at("operations") > 0);
        CHECK(ask_for(page, "/api/stat").at("condition") == "writer_running");
        writer.kill();
    }
    const json died = eventually(page, "/api/sample", condition_is("writer_died"));
    CHECK(died.at("sample").at("condition") == "writer_died");

    const auto aside = of.scratch / "aside";
    std::filesystem::rename(of.state, aside);
    const json gone = eventually(page, "/api/sample", [](const json& found) {
        return found.at("sample").at("error").is_string();
    });
    CHECK_THAT(gone.at("sample").at("error").get<std::string>(), Contains(of.state.string()));
    check_refused(ask(page, "/api/stat"), "503");
    CHECK_THAT(ask(page, "/"), StartsWith("HTTP/1.1 200 "));
    std::filesystem::rename(aside, of.state);
    const json back = eventually(page, "/api/sample", condition_is("writer_died"));
    CHECK(back.at("sample").at("error").is_null());
}

TEST_CASE("serve: another state in its place begins another history") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    {
        database other(state, quick_options());
        other.add_type<parcel>("parcel");
    }
    const state_page page(state, {});
    const json first = ask_for(page, "/api/history");
    std::filesystem::remove_all(state);
    build_sample_state(state);
    const json second = eventually(page, "/api/history", [&](const json& found) {
        return found.at("begun") != first.at("begun");
    });
    CHECK(first.at("begun") != second.at("begun"));
    CHECK(first.at("types") == json({"parcel"}));
    CHECK(second.at("types") == json({"account", "post", "token", "marker"}));
    CHECK(second.at("samples").front().at("number") == 1);
    CHECK(second.at("samples").front().at("rates").is_null());
}

TEST_CASE("serve: a folder that is no state is told at once") {
    const scratch_folder scratch;
    CHECK_THROWS_AS(state_page(scratch.path(), {}), format_error);
}
