#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/tools/verb_answers.hpp>

#include <cstdint>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace chainbase::test {

using nlohmann::json;

namespace {

std::uint64_t number(const json& from, const char* name) {
    return from.at(name).get<std::uint64_t>();
}

void require_sums(const json& part) {
    REQUIRE(number(part, "header") + number(part, "links") + number(part, "values") +
                number(part, "slack") + number(part, "punched") ==
            number(part, "total"));
    REQUIRE(number(part, "files") == number(part, "total"));
}

std::uint64_t bytes_below(const json& part) {
    if (!part.contains("children")) return number(part, "bytes");
    std::uint64_t sum = 0;
    for (const json& child : part.at("children"))
        sum += bytes_below(child);
    REQUIRE(sum == number(part, "bytes"));
    return sum;
}

/// All lines but the first and the last.
std::vector<json> lines_of(const std::string& output, std::uint64_t& rows_told) {
    std::vector<json> lines;
    std::istringstream in(output);
    for (std::string line; std::getline(in, line);)
        lines.push_back(json::parse(line));
    REQUIRE(lines.size() >= 2);
    REQUIRE(lines.front().at("schema_version") == 1);
    rows_told = number(lines.back(), "rows");
    lines.erase(lines.begin());
    lines.pop_back();
    REQUIRE(lines.size() == rows_told);
    return lines;
}

} // namespace

bool check_stat(const std::string& output) {
    const json found = json::parse(output);
    if (!found.at("consistent").get<bool>()) return false;
    REQUIRE(found.at("discrepancies").empty());
    std::uint64_t types = 0;
    for (const json& type : found.at("types")) {
        for (const char* part : {"nodes", "ids", "tables", "total"})
            require_sums(type.at(part));
        types += number(type.at("total"), "total");
    }
    const json& sums = found.at("sums");
    REQUIRE(types == number(sums, "types"));
    REQUIRE(number(sums, "header") + number(sums, "log") + number(sums, "buffers") + types ==
            number(sums, "total"));
    REQUIRE(number(sums, "files") == number(sums, "total"));
    return true;
}

bool check_map(const std::string& output) {
    const json found = json::parse(output);
    for (const json& file : found.at("files"))
        REQUIRE(number(file, "header") + number(file, "in_use") + number(file, "free") +
                    number(file, "never_used") ==
                number(file, "bytes"));
    return true;
}

bool check_tree(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(bytes_below(found.at("tree")) == number(found, "bytes"));
    return true;
}

bool check_comments(const std::string& output) {
    std::uint64_t told = 0;
    std::pair<std::int64_t, std::uint64_t> before{INT64_MIN, 0};
    for (const json& row : lines_of(output, told)) {
        const std::pair now{row.at("cashout_time").get<std::int64_t>(), number(row, "id")};
        REQUIRE(now > before);
        before = now;
    }
    return true;
}

bool check_blocks(const std::string& output) {
    std::uint64_t told = 0;
    json before;
    for (const json& line : lines_of(output, told)) {
        const json& row = line.at("applied_block");
        REQUIRE(number(row, "blocks") == number(row, "number"));
        if (!before.is_null()) {
            REQUIRE(number(row, "id") > number(before, "id"));
            REQUIRE(number(row, "number") > number(before, "number"));
            REQUIRE(number(row, "revision") > number(before, "revision"));
            REQUIRE(number(row, "operations") >= number(before, "operations"));
        }
        before = row;
    }
    return true;
}

bool check_object(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(found.at("schema_version") == 1);
    return true;
}

bool check_one_row(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(found.at("rows").size() == 1);
    REQUIRE(found.at("rows").at(0).at("id") == 0);
    return true;
}

bool check_sample(const std::string& output) {
    std::uint64_t told = 0;
    std::set<std::uint64_t> ids;
    for (const json& row : lines_of(output, told))
        REQUIRE(ids.insert(number(row, "id")).second);
    return true;
}

bool check_top(const std::string& output) {
    std::istringstream in(output);
    bool is_seen = false;
    for (std::string line; std::getline(in, line);) {
        const json found = json::parse(line);
        REQUIRE(found.at("schema_version") == 1);
        if (!found.at("error").is_null()) continue;
        is_seen = true;
        REQUIRE(!found.at("types").empty());
        REQUIRE(found.at("locks").at("writer_alive").is_boolean());
    }
    return is_seen;
}

bool check_digest(const std::string& output) {
    const json found = json::parse(output);
    const bool has_moved = found.at("moved").get<bool>();
    REQUIRE(found.at("digest").is_null() == has_moved);
    REQUIRE(found.at("types").empty() == has_moved);
    return true;
}

bool check_warm(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(found.at("dry_run") == true);
    REQUIRE(!found.at("files").empty());
    for (const json& file : found.at("files")) {
        REQUIRE(number(file, "data_bytes") <= number(file, "bytes"));
        REQUIRE(file.at("resident_after").is_null());
    }
    return true;
}

} // namespace chainbase::test
