// Unusual type names and texts: the output stays valid HTML, SVG, C, DOT, roff and shell.
#include <chainbase/object/schema_of.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/memory/memory_tree.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/manual.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using inspect::segment_map;
using inspect::state_tree;
using inspect::window_map;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

catalogue::entry entry_of(type_schema schema) {
    return {std::move(schema), 30};
}

/// Requires that a C compiler accepts it as a file of its own, with every warning an error.
void require_c(const scratch_folder& scratch, const std::string& header,
               const std::string& more = "") {
    const fs::path file = scratch / "schema.c";
    std::ofstream(file) << header << more;
    const std::string command =
        "cc -std=c11 -fsyntax-only -Wall -Wextra -Wpadded -Werror " + file.string() + " 2>&1";
    INFO(header);
    REQUIRE(std::system(command.c_str()) == 0);
}

/// The data embedded in a page.
json data_in(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = page.find(begin) + begin.size();
    return json::parse(page.substr(from, page.find("</script", from) - from));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t found = text.find(part); found != std::string::npos;
         found = text.find(part, found + 1))
        ++count;
    return count;
}

bool is_there(const char* program) {
    return std::system(("command -v " + std::string(program) + " >/dev/null 2>&1").c_str()) == 0;
}

/// The output of a command, warnings included.
std::string output_of(const std::string& command) {
    FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string said;
    std::array<char, 4096> piece;
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
        said.append(piece.data(), got);
    ::pclose(pipe);
    return said;
}

// A program whose words contain all special characters of a shell and roff.
void declare_inner(command& verb) {
    static bool flag = false;
    verb.add_flag("--a-flag,-a", flag, "it's: \\fB");
}
constexpr verb_entry inner_verbs[] = {{"inner", "'.dot", declare_inner, "outer inner --a-flag"}};
void declare_outer(command& verb) {
    verb.add_verbs(inner_verbs);
}
constexpr verb_entry odd_verbs[] = {{"outer", "'quoted' \\ $(id)", declare_outer, ""}};
const program_description odd{"odd-one", ".It's \\n \"odd\" $HOME `id` -- a:b", odd_verbs};

} // namespace

TEST_CASE("tree --html: a type may be called anything") {
    const std::string name = "</script><script>\xff\xE2\x80\xA8";
    state_tree found{{}, {"state", 5, 5, {{name, 5, 5, {}}}}};
    const std::string page = inspect::as_html(found);
    CHECK(occurrences(page, "</script") == 2);
    const std::string read = data_in(page).at("tree").at("children")[0].at("name");
    CHECK(read == "</script><script>\xEF\xBF\xBD\xE2\x80\xA8");
    CHECK(inspect::as_folded(found) == "state;" + read + " 5\n");
}

TEST_CASE("map: names may be any text") {
    segment_map found;
    found.state = "/a <b> & \"c\"\xff";
    window_map file;
    file.name = "<script>&\x01.objects";
    file.kind = "objects";
    file.bytes = file.header_bytes = file.end = 4096;
    file.in_use = {4096};
    file.is_hole = {false};
    file.slots.used = 1;
    found.windows.push_back(file);
    const std::string svg = inspect::as_svg(found);
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find("&lt;script&gt;&amp; .objects") != std::string::npos);
    CHECK(svg.find("/a &lt;b&gt; &amp; &quot;c&quot;\xEF\xBF\xBD") != std::string::npos);
    CHECK(json::parse(inspect::as_json(found)).at("files")[0].at("file") == file.name);
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

TEST_CASE("locks: the dead are told from the living") {
    lock_report report;
    report.writer = {71, false, lock_report::doing::inside, 2.5};
    report.readers = {{0, 72, 73, "node", true, lock_report::doing::waiting, 2.25},
                      {4, 74, 74, "gone", false, lock_report::doing::inside, 1}};
    const std::string text = inspect::as_text({report, false});
    CHECK_THAT(text, Contains("process 71 died while it was writing, which it began 2.5 s ago"));
    CHECK_THAT(text, Contains("waiting  2.2 s"));
    CHECK_THAT(text, Contains("reading, and dead"));
    const json same = json::parse(inspect::as_json({report, true}));
    CHECK(same.at("writer").at("state") == "writing");
    CHECK(same.at("checked") == true);
    CHECK(same.at("readers")[1].at("alive") == false);
}

TEST_CASE("locks: who may not look is told so") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    std::string said;
    try {
        inspect::look_at(state.string(), [&]() -> int {
            throw std::filesystem::filesystem_error(
                "status", state / "lock", std::make_error_code(std::errc::permission_denied));
        });
    } catch (const access_error& e) {
        said = e.what();
    }
    CHECK_THAT(said, Contains((state / "lock").string()) && Contains("may not read it"));
}

TEST_CASE("descriptions with any characters stay descriptions") {
    const scratch_folder scratch;
    const auto file = [&](const char* name, const std::string& text) {
        std::ofstream(scratch / name) << text;
        return (scratch / name).string();
    };
    const std::string page = man_page_of(odd);
    CHECK_THAT(page, Contains("\\&.It's \\en") && Contains(".SS outer inner") &&
                         Contains("\n\\&'.dot\n"));
    if (is_there("groff")) CHECK(output_of("groff -man -ww -z " + file("odd.1", page)).empty());
    const std::string bash = file("odd.bash", bash_completion_of(odd));
    CHECK(output_of("bash -c \"source " + bash +
                    "; COMP_WORDS=(odd-one outer inner -); COMP_CWORD=3; _odd_one; "
                    "echo \\${COMPREPLY[@]}\"") == "--a-flag -a -q --quiet -h --help\n");
    const std::string zsh = file("_odd", zsh_completion_of(odd));
    if (is_there("zsh")) CHECK(output_of("zsh -n " + zsh).empty());
    const std::string fish = file("odd.fish", fish_completion_of(odd));
    if (is_there("fish"))
        CHECK_THAT(output_of("HOME=" + scratch.path().string() + " fish -c \"source " + fish +
                             "; complete -C 'odd-one outer inner --a'\""),
                   Contains("--a-flag\tit's: \\fB"));
}
