#include <catch2/catch.hpp>
#include <tests/sink/filled_schema.hpp>

#include <chrono>
#include <future>
#include <thread>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;

// A server does what it was sent, also when the sink that sent it is dead.
TEST_CASE("who asks for the cursor waits for what a killed sink left behind") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()}, {"all"});
    one.begin(cursor_at(10, 1, false));
    one.apply(counters(0, 100, 1), cursor_at(20, 2));
    const cursor was = one.now;
    const auto reader = one.another(/*reads_only=*/true);
    const auto successor = one.another();
    REQUIRE(successor->where() == reader->where());
    other_session left(servers->dsn());
    left.run("BEGIN; SELECT " + one.name() + "_sink.advance(20, 1, 30, 3, 0, true)");
    auto found = std::async(std::launch::async, [&] { return successor->where(); });
    CHECK(found.wait_for(std::chrono::milliseconds(300)) == std::future_status::timeout);
    CHECK(reader->where()->at == 20); // who only reads does not wait
    left.run("COMMIT");
    const std::optional<cursor> at = found.get();
    REQUIRE(at);
    CHECK(at->at == 30);
    cursor next = *at;
    next.at = 40;
    successor->apply(counters(0, 100, 2), *at, next); // which is not fenced
    CHECK(reader->where() == next);
}
