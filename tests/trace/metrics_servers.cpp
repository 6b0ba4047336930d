// The server of the metrics, and clients that are broken or hostile: they cost their connection.

#include <pool_allocator/error.hpp>
#include <tools/driver/observation.hpp>

#include <catch2/catch.hpp>
#include <tests/trace/http_client.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using driver::metrics_server;

namespace {

const listen_address any_port;

bool serves(const metrics_server& server) {
    return body_of(http_get(server.port(), "/metrics")) == "numbers\n";
}

const auto numbers = [] { return std::string("numbers\n"); };

} // namespace

TEST_CASE("an address is numbers, a colon and a port") {
    CHECK(listen_address::parse("10.0.0.1:9464").host == "10.0.0.1");
    CHECK(listen_address::parse("10.0.0.1:9464").port == 9464);
    CHECK(listen_address::parse(":0").host == "127.0.0.1");
    CHECK(listen_address::parse("[::1]:80").host == "::1");
    for (const char* wrong : {"", "9464", "localhost:1", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536",
                              "1.2.3.4:-1", "1.2.3.4:8x", "::1:80", "[1.2.3.4]:80", "1.2.3.4: 8"})
        CHECK_THROWS_AS(listen_address::parse(wrong), usage_error);
}

TEST_CASE("it answers what it is asked, and refuses the rest") {
    const metrics_server server(any_port, numbers);
    CHECK(server.address() == "127.0.0.1:" + std::to_string(server.port()));
    const std::string answer = http_get(server.port(), "/metrics");
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(answer.find("text/plain; version=0.0.4") != std::string::npos);
    CHECK(answer.find("Content-Length: 8\r\n") != std::string::npos);
    CHECK(body_of(answer) == "numbers\n");
    CHECK(body_of(http_get(server.port(), "/metrics?x=1")) == "numbers\n");
    CHECK(http_get(server.port(), "/").find("/metrics") != std::string::npos);
    CHECK(http_get(server.port(), "/other").starts_with("HTTP/1.1 404 "));
    CHECK(http_get(server.port(), "/metrics/../x").starts_with("HTTP/1.1 404 "));
    CHECK(http_get(server.port(), "/metrics", "POST").starts_with("HTTP/1.1 405 "));
    const std::string head = http_get(server.port(), "/metrics", "HEAD");
    CHECK(head.find("Content-Length: 8\r\n") != std::string::npos);
    CHECK(body_of(head).empty());
}

TEST_CASE("a connection serves one request after the other") {
    const metrics_server server(any_port, numbers);
    const http_client client(server.port());
    for (int i = 0; i < 3; ++i) {
        CHECK(client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
        CHECK(client.until("numbers\n").starts_with("HTTP/1.1 200 "));
    }
}

TEST_CASE("a page that throws is an error of that request only") {
    std::atomic<bool> fails{true};
    const metrics_server server(any_port, [&] {
        if (fails) throw std::runtime_error("no numbers");
        return std::string("numbers\n");
    });
    CHECK(http_get(server.port(), "/metrics").starts_with("HTTP/1.1 500 "));
    fails = false;
    CHECK(serves(server));
}

TEST_CASE("a malformed request is refused") {
    const metrics_server server(any_port, numbers);
    for (const std::string_view bad :
         {std::string_view("\r\n\r\n\r\n"), std::string_view("GET /metrics\r\n\r\n"),
          std::string_view("G\0T / HTTP/1.1\r\n\r\n", 19),
          std::string_view("GET / HTTP/9.9\r\n\r\n"),
          std::string_view("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
          std::string_view("GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"),
          std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)}) {
        const http_client client(server.port());
        client.send(bad);
        client.send("\r\n\r\n");
        const std::string answer = client.rest();
        CHECK((answer.empty() || answer.starts_with("HTTP/1.1 4")));
        CHECK(answer.find("numbers") == std::string::npos);
        CHECK(serves(server));
    }
}

TEST_CASE("a request that does not end is cut at the limit") {
    http_limits limits;
    limits.header_bytes = 2000;
    const metrics_server server(any_port, numbers, limits);
    const http_client client(server.port());
    client.send("GET /metrics HTTP/1.1\r\n");
    bool taken = true;
    std::size_t sent = 0;
    for (int i = 0; i < 200'000 && taken; ++i) { // 20 MB, if it takes them
        const std::string line = "X-" + std::to_string(i) + ": " + std::string(90, 'x') + "\r\n";
        taken = client.send(line);
        sent += line.size();
    }
    CHECK_FALSE(taken);
    CHECK(sent < 15'000'000); // what the kernel's buffers hold at most
    CHECK(serves(server));

    const http_client with_body(server.port());
    with_body.send("GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
    CHECK(with_body.rest().find("numbers") == std::string::npos);
    CHECK(serves(server));
}

TEST_CASE("a request that is too slow is cut, and others are served meanwhile") {
    http_limits limits;
    limits.patience = std::chrono::milliseconds(300);
    const metrics_server server(any_port, numbers, limits);
    const http_client slow(server.port());
    const http_client silent(server.port());
    bool taken = true;
    for (int i = 0; i < 1000 && taken; ++i) {
        taken = slow.send("G");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (i % 10 == 0) CHECK(serves(server));
    }
    CHECK_FALSE(taken);
    CHECK(silent.rest().empty()); // and closed
}

TEST_CASE("more connections than allowed are closed, and room comes back") {
    http_limits limits;
    limits.connections = 8;
    limits.patience = std::chrono::milliseconds(500);
    const metrics_server server(any_port, numbers, limits);
    std::vector<std::unique_ptr<http_client>> idle;
    for (int i = 0; i < 40; ++i)
        idle.push_back(std::make_unique<http_client>(server.port()));
    for (const auto& one : idle)
        CHECK(one->rest().empty()); // closed: at once, or when patience ended
    CHECK(serves(server));
}

TEST_CASE("many clients at once all get their answer") {
    const metrics_server server(any_port, numbers);
    std::atomic<int> good{0};
    std::vector<std::thread> clients;
    for (int t = 0; t < 8; ++t)
        clients.emplace_back([&] {
            for (int i = 0; i < 50; ++i)
                if (serves(server)) ++good;
        });
    for (std::thread& one : clients)
        one.join();
    CHECK(good == 400);
}

TEST_CASE("an address that is taken is told; a server ends with connections open") {
    auto server = std::make_unique<metrics_server>(any_port, numbers);
    CHECK_THROWS_AS(metrics_server({"127.0.0.1", server->port()}, numbers), io_error);
    const http_client open(server->port());
    open.send("GET /met");
    server.reset();
    CHECK(open.rest().empty());
}
