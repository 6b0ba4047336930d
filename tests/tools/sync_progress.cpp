// What a sync says of the time it waited for blocks.

#include <catch2/catch.hpp>
#include <tests/support/heard.hpp>
#include <tests/tools/sync_support.hpp>

#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("what a peer needs for its first answer is not waiting for blocks") {
    const given_chain given;
    scripted_peer peer([&](raw_connection& with, int) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        with.greet("payments");
        given.give(with, 0, 10);
        std::this_thread::sleep_for(std::chrono::milliseconds(600)); // meanwhile a line is due
        given.give(with, 10, given.chain.size());
        with.send(end_at(given.place(given.chain.size() - 1)));
        with.wait_for_end();
    });
    const heard log;
    const driver::sync_report report = sync_call({peer.address()}).run();
    CHECK(report.state.head == given.chain.size());
    CHECK(std::chrono::duration<double>(report.state.waited.for_blocks).count() <=
          report.state.seconds);
    const std::string text = log.text();
    INFO(text);
    const std::string sign = "waited for blocks ";
    const std::size_t at = text.find(sign);
    REQUIRE(at != std::string::npos);
    CHECK(std::stoi(text.substr(at + sign.size())) <= 100);
}
