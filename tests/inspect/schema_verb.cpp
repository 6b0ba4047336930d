// What `schema` says of types is what the program that wrote them has.

#include <chainbase/database.hpp>
#include <chainbase/schema.hpp>
#include <tools/inspect/state/c_header.hpp>
#include <tools/inspect/state/schema.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace fs = std::filesystem;

namespace chainbase::test {

struct price {
    std::int64_t amount = 0;
    std::uint32_t unit = 0;
};
BOOST_DESCRIBE_STRUCT(price, (), (amount, unit))

/// Fields of every kind, with gaps between them.
struct offer {
    chainbase::id<offer> id;
    bool is_open = false;
    std::uint8_t kind = 0;
    double rate = 0;
    float weight = 0;
    std::array<std::uint16_t, 3> levels{};
    fixed_string<8> unit;
    price first;
    std::array<price, 2> more;
    std::array<std::array<std::uint8_t, 4>, 2> matrix{};
    shared_string text;
    shared_vector<std::uint64_t> all;
    std::int8_t last = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(offer, (),
                      (id, is_open, kind, rate, weight, levels, unit, first, more, matrix, text,
                       all, last))

} // namespace chainbase::test

namespace {

catalogue::entry entry_of(type_schema schema) {
    return {std::move(schema), 30};
}

/// Whether a C compiler takes it as a file of its own, with every warning an error.
void require_c(const scratch_folder& scratch, const std::string& header,
               const std::string& more = "") {
    const fs::path file = scratch / "schema.c";
    std::ofstream(file) << header << more;
    const std::string command =
        "cc -std=c11 -fsyntax-only -Wall -Wextra -Wpadded -Werror " + file.string() + " 2>&1";
    INFO(header);
    REQUIRE(std::system(command.c_str()) == 0);
}

} // namespace

TEST_CASE("schema --json has every type field and key as the program has it") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const outcome result = inspect_with("schema " + state.string() + " --json");
    REQUIRE(result.code == 0);
    CHECK(result.output.starts_with("{\n \"schema_version\": 1,"));
    const json found = json::parse(result.output);
    CHECK(found.at("state") == state.string());
    REQUIRE(found.at("types").size() == 4);
    const type_schema wanted = catalogue::read(state / "segment").find("account")->schema;
    const json& account = found.at("types").at(0);
    CHECK(account.at("name") == "account");
    CHECK(std::stoull(account.at("hash").get<std::string>(), nullptr, 16) == wanted.hash());
    CHECK(account.at("value_bytes") == sizeof(test::account));
    CHECK(account.at("value_offset") == wanted.value_offset);
    CHECK(account.at("node_bytes") == wanted.node_bytes);
    const json balance = {{"name", "balance"},
                          {"type", "i64"},
                          {"offset", offsetof(test::account, balance)},
                          {"bytes", 8}};
    CHECK(account.at("fields").size() == 6);
    CHECK(account.at("fields").at(2) == balance);
    REQUIRE(account.at("indexes").size() == 5);
    const json by_balance = {
        {"name", "by_balance"},
        {"kind", "ordered_unique"},
        {"parts",
         {{{"field", "balance"}, {"descending", true}}, {{"field", "id"}, {"descending", false}}}}};
    CHECK(account.at("indexes").at(1) == by_balance);
}

TEST_CASE("schema needs no more than the catalogue and works beside a writer") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    {
        const writer_process writer(state);
        CHECK(inspect_with("schema " + state.string()).code == 0);
    }
    const std::string before = inspect_with("schema " + state.string() + " --json").output;
    for (const auto& file : fs::directory_iterator(state / "segment"))
        if (file.path().filename() != "catalogue.json") fs::remove(file);
    const outcome after = inspect_with("schema " + state.string() + " --json");
    CHECK(after.code == 0);
    CHECK(after.output == before);
}

TEST_CASE("schema: types by name and one that is not there") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const json all = json::parse(inspect_with("schema " + state.string() + " --json").output);
    const json two =
        json::parse(inspect_with("schema " + state.string() + " token account --json").output);
    REQUIRE(two.at("types").size() == 2);
    CHECK(two.at("types").at(0).at("name") == "token");
    CHECK(two.at("types").at(1) == all.at("types").at(0));
    CHECK(two.at("hash") == all.at("hash"));
    const outcome wrong = inspect_with("schema " + state.string() + " tokens 2>&1");
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.output, Contains("\"tokens\"") && Contains("account, post, token, marker"));
    CHECK(inspect_with("schema " + state.string() + " --dot --json 2>/dev/null").code == 2);
    const std::string text = inspect_with("schema " + state.string() + " account").output;
    CHECK_THAT(text, Contains("fixed_string<16>") &&
                         Contains("by_balance: ordered_unique (balance descending, id)"));
}

TEST_CASE("schema: what cannot be read is told with the file") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const auto refusal = [&] {
        const outcome said = inspect_with("schema " + state.string() + " 2>&1 >/dev/null");
        CHECK(said.code == 1);
        return said.output;
    };
    CHECK_THAT(refusal(), Contains("check the path"));
    build_sample_state(state);
    fs::resize_file(state / "segment/catalogue.json", 100);
    CHECK_THAT(refusal(), Contains("catalogue.json") && Contains("not valid JSON"));
    fs::remove_all(state / "segment");
    CHECK_THAT(refusal(), Contains("is not there"));
}

TEST_CASE("schema --c-header of a state compiles with the offsets of the program") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const outcome result = inspect_with("schema " + state.string() + " --c-header");
    REQUIRE(result.code == 0);
    const auto offset = [](const char* field, std::size_t at) {
        return "_Static_assert(offsetof(struct " + std::string(field) +
               ") == " + std::to_string(at) + ", \"\");\n";
    };
    require_c(scratch, result.output,
              offset("account, balance", offsetof(test::account, balance)) +
                  offset("account, visits", offsetof(test::account, visits)) +
                  offset("post, votes", offsetof(test::post, votes)));
}

TEST_CASE("schema --c-header knows every type of the catalogue's words") {
    const scratch_folder scratch;
    const std::string header = inspect::c_header_of({entry_of(schema_of<offer>("offer"))});
    require_c(scratch, header,
              "_Static_assert(offsetof(struct offer, last) == " +
                  std::to_string(offsetof(offer, last)) + ", \"\");\n");
    CHECK_THAT(header, Contains("bool is_open;") && Contains("double rate;") &&
                           Contains("float weight;") && Contains("uint16_t levels[3];") &&
                           Contains("char unit[8];") && Contains("} more[2];") &&
                           Contains("uint8_t matrix[2][4];") && Contains("uint64_t text;") &&
                           Contains("int64_t amount;") && Contains("uint8_t padding[4];") &&
                           Contains("int8_t last;"));
    // A program of C reads what one of C++ wrote.
    std::ofstream(scratch / "read.c") << header << R"(#include <stdio.h>
int main(void) {
    struct offer o;
    if (fread(&o, sizeof o, 1, stdin) != 1) return 1;
    printf("%d %.2f %u %s %lld %u", o.kind, o.rate, o.levels[2], o.unit,
           (long long)o.more[1].amount, o.matrix[1][3]);
    return o.last == -5 ? 0 : 1;
}
)";
    offer one;
    one.kind = 7;
    one.rate = 0.25;
    one.levels = {1, 2, 3};
    one.unit = "ABC";
    one.more[1].amount = -9;
    one.matrix[1][3] = 200;
    one.last = -5;
    std::ofstream(scratch / "value", std::ios::binary)
        .write(reinterpret_cast<const char*>(&one), sizeof one);
    const std::string folder = scratch.path().string();
    REQUIRE(std::system(("cd " + folder + " && cc -std=c11 -Werror -Wall read.c -o read && " +
                         "./read < value > said")
                            .c_str()) == 0);
    std::string said;
    std::getline(std::ifstream(scratch / "said"), said);
    CHECK(said == "7 0.25 3 ABC -9 200");
}

TEST_CASE("schema --c-header: any names and what is not described") {
    const scratch_folder scratch;
    type_schema odd;
    odd.name = "a.b*/ \"\\\n";
    odd.value_bytes = 44;
    for (const char* name : {"int", "a-b", "a b", "2nd", "", "*/", "padding"})
        odd.fields.push_back({name, "u32", static_cast<std::uint32_t>(4 * odd.fields.size()), 4});
    odd.fields.push_back({"hole", "{a u8}", 32, 3});          // not all of it is described
    odd.fields.push_back({"skew", "u32", 37, 4});             // not where C would have it
    odd.fields.push_back({"other", "something<new>", 41, 1}); // of a later version
    odd.fields.push_back({"overlap", "u32", 40, 4});
    odd.fields.push_back({"outside", "u64", 44, 8});
    type_schema same = odd;
    same.name = "a_b_____";
    const std::string header = inspect::c_header_of({entry_of(odd), entry_of(same)});
    require_c(scratch, header);
    CHECK_THAT(header, Contains("uint32_t int_;") && Contains("uint32_t a_b;") &&
                           Contains("uint32_t a_b_2;") && Contains("uint32_t x_2nd;") &&
                           Contains("uint8_t hole[3];") && Contains("uint8_t skew[4];") &&
                           Contains("uint8_t other[1];") && Contains("uint8_t padding_2[4];"));
    CHECK(header.find("overlap") == std::string::npos);
    CHECK(header.find("outside") == std::string::npos);
}

TEST_CASE("schema --dot is a graph whatever the names are") {
    inspect::schema_report report;
    type_schema odd = schema_of<post>("a {b|c} <d> \"e\" \\f\n");
    odd.fields.push_back({"g\"h", "{x i64, y u32}", 0, 16});
    report.types.push_back(entry_of(odd));
    const std::string graph = as_dot(report);
    CHECK_THAT(graph, Contains(R"(a\ \{b\|c\}\ \<d\>\ \"e\"\ \\f?)") &&
                          Contains(R"(g\"h:\ \{x\ i64,\ y\ u32\}\l)") &&
                          Contains(R"(by_link:\ ordered_unique\ (author,\ permlink)\l)"));
    CHECK(graph.find("->") == std::string::npos);
    if (std::system("command -v dot >/dev/null 2>&1") != 0) return; // looked at by hand only
    const scratch_folder scratch;
    std::ofstream(scratch / "graph") << graph;
    CHECK(std::system(
              ("test -z \"$(dot -Tplain " + (scratch / "graph").string() + " 2>&1 >/dev/null)\"")
                  .c_str()) == 0);
}
