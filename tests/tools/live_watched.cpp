#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/trace/exposition.hpp>
#include <tests/trace/http_client.hpp>

#include <chrono>
#include <regex>
#include <thread>

/// A running node, as Prometheus and the example board see it.
using namespace chainbase::test;
using nlohmann::json;

namespace {

std::uint16_t metrics_port_of(const driver_process& node) {
    const std::regex told("metrics: http://127.0.0.1:([0-9]+)/metrics");
    for (std::smatch found; node.is_running();
         std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
        const std::string said = node.said_so_far();
        if (std::regex_search(said, found, told))
            return static_cast<std::uint16_t>(std::stoi(found[1]));
    }
    FAIL("it ended: " << node.said_so_far());
    return 0;
}

/// Whether the node has applied a block that made an account. The page's numbers are not of one
/// moment: the first account is counted before the first block is complete.
bool tells_of_a_block(const exposition& page) {
    const auto is_told = [&](const char* name) {
        const auto value = page.values.find(name);
        return value != page.values.end() && value->second > 0;
    };
    return is_told("chainbase_type_objects{type=\"account\"}") &&
           is_told("chainbase_chain_head_block") && is_told("chainbase_driver_operations_total");
}

/// What it answers once it has applied a block.
exposition page_of(std::uint16_t port) {
    for (;;) {
        exposition page(body_of(http_get(port, "/metrics")));
        if (tells_of_a_block(page)) return page;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

/// The expressions of all panels.
void collect_queries(const json& board, std::vector<std::string>& to) {
    for (const auto& [key, value] : board.items()) {
        if (value.is_structured()) collect_queries(value, to);
        if (key == "expr") to.push_back(value);
    }
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
    std::set<std::string> all;
    const std::regex wanted(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at)
        all.insert((*at)[1]);
    return all;
}

} // namespace

TEST_CASE("a node exports all that the example board asks for, and the board shows its gauges") {
    const real_log log("steem-2016");
    const driver_process node({"live", "--block-log", log.path().string(), "--state",
                               log.state().string(), "--interval-ms", "3", "--readers", "1",
                               "--pending", "50", "--metrics", ":0"});
    const exposition page = page_of(metrics_port_of(node));
    std::vector<std::string> queries;
    collect_queries(json::parse(read_file(CHAINBASE_BOARD)), queries);
    REQUIRE(queries.size() >= 20);
    std::string all;
    for (const std::string& query : queries) {
        INFO(query);
        all += query;
        const auto names = matches(query, "(chainbase_[a-z_]+)");
        CHECK_FALSE(names.empty());
        for (const std::string& name : names)
            CHECK(page.names.contains(name));
        for (const std::string& place : matches(query, R"re(span="([^"]+)")re"))
            CHECK(page.values.contains("chainbase_spans_total{span=\"" + place + "\"}"));
    }
    for (const auto& [metric, type] : page.types) {
        INFO(metric);
        const bool is_of_the_exporter = metric.starts_with("chainbase_span") ||
                                        metric.starts_with("chainbase_trace_") ||
                                        metric.starts_with("chainbase_process_");
        if (type == "gauge" && !is_of_the_exporter && metric != "chainbase_chain_operations")
            CHECK(all.find(metric) != std::string::npos);
    }
    CHECK(page.types.at("chainbase_archive_lookup_seconds") == "histogram");
    CHECK(page.types.at("chainbase_archive_misses_total") == "counter");
    for (const std::string outcome : {"hit_in_memory", "hit_in_archive", "miss", "known_miss"}) {
        const std::string of = "{outcome=\"" + outcome + "\"";
        const double count = page.values.at("chainbase_archive_lookup_seconds_count" + of + "}");
        CHECK(page.values.at("chainbase_archive_lookup_seconds_bucket" + of + ",le=\"+Inf\"}") ==
              count);
        CHECK(page.values.at("chainbase_archive_lookup_seconds_bucket" + of +
                             ",le=\"17.1798692\"}") == count);
        CHECK((page.values.at("chainbase_archive_lookup_seconds_sum" + of + "}") > 0) ==
              (count > 0));
    }
    // Counted at once here, once a second there.
    CHECK(page.values.at("chainbase_archive_lookup_seconds_count{outcome=\"miss\"}") >=
          page.values.at("chainbase_archive_misses_total"));
}
