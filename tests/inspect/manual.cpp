// The manual page and the completions have every verb and option, and other programs take them.

#include <tools/inspect/verbs.hpp>
#include <tools/manual.hpp>
#include <tools/verb_tree.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

const std::string folder = CHAINBASE_INSPECT_MANUAL;

std::string content_of(const std::string& file) {
    std::ifstream from(file, std::ios::binary);
    REQUIRE(from);
    return {std::istreambuf_iterator<char>(from), {}};
}

bool is_there(const char* program) {
    return std::system(("command -v " + std::string(program) + " >/dev/null 2>&1").c_str()) == 0;
}

/// What a command prints, warnings included.
std::string said_by(const std::string& command) {
    FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string said;
    std::array<char, 4096> piece;
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
        said.append(piece.data(), got);
    ::pclose(pipe);
    return said;
}

/// What bash offers for the last of the words.
std::string offered(const std::string& words, int last) {
    return said_by("bash -c \"source '" + folder + "/chainbase-inspect.bash'; COMP_WORDS=(" +
                   words + "); COMP_CWORD=" + std::to_string(last) +
                   "; _chainbase_inspect; echo \\${COMPREPLY[@]}\"");
}

described_verb all_verbs() {
    static exit_code unused = exit_code::done;
    CLI::App program(inspect::program_description, inspect::program_name);
    inspect::add_all_verbs(program, unused);
    return described_verb::of(program);
}

/// A program whose words have all that a shell or roff takes for its own.
std::string odd(std::string (*made)(const CLI::App&)) {
    CLI::App program(".It's \\n \"odd\" $HOME `id` -- a:b", "odd-one");
    bool flag = false;
    CLI::App* outer = program.add_subcommand("outer", "'quoted' \\ $(id)");
    outer->add_subcommand("inner", "'.dot")->add_flag("--a-flag,-a", flag, "it's: \\fB");
    return made(program);
}

} // namespace

TEST_CASE("the description has every verb with its options and arguments") {
    const described_verb all = all_verbs();
    REQUIRE(all.verbs.size() >= 7);
    for (const described_verb& verb : all.verbs) {
        INFO(verb.name());
        CHECK_FALSE(verb.description.empty());
        REQUIRE_FALSE(verb.positionals.empty());
        CHECK(verb.positionals.front().is_required);
        CHECK_FALSE(verb.options.empty());
    }
    const auto schema = std::ranges::find(all.verbs, "schema", &described_verb::name);
    REQUIRE(schema != all.verbs.end());
    CHECK(schema->positionals.front().value == "DIR");
    CHECK(schema->positionals.back().value == "TYPE");
    CHECK_FALSE(schema->positionals.back().is_required);
}

TEST_CASE("the manual page has every verb and option and no formatter warns") {
    const std::string page = content_of(folder + "/chainbase-inspect.1");
    for (const char* part : {".TH CHAINBASE\\-INSPECT 1", ".SH NAME", ".SH SYNOPSIS",
                             ".SH DESCRIPTION", ".SH VERBS", ".SH EXIT STATUS", ".SH EXAMPLES"})
        CHECK_THAT(page, Contains(part));
    for (const described_verb& verb : all_verbs().verbs)
        CHECK_THAT(page, Contains(".SS " + verb.name() + "\n"));
    CHECK_THAT(page, Contains("\\fB\\-\\-c\\-header\\fR") && Contains("\\fITYPE\\fR"));
    const std::string file = folder + "/chainbase-inspect.1";
    if (is_there("groff")) CHECK(said_by("groff -man -ww -z -Tutf8 " + file).empty());
    if (is_there("mandoc")) CHECK(said_by("mandoc -Tlint -Wwarning " + file).empty());
    if (is_there("man"))
        CHECK_THAT(said_by("MANWIDTH=100 man -l " + file + " | col -b"),
                   Contains("chainbase-inspect schema DIR"));
}

TEST_CASE("bash completes verbs and the options of the one that was called") {
    CHECK(offered("chainbase-inspect st", 1) == "stat\n");
    CHECK_THAT(offered("chainbase-inspect ''", 1), Contains("info") && Contains("undo"));
    CHECK(offered("chainbase-inspect schema --", 2) == "--help --json --c-header --dot\n");
    CHECK(offered("chainbase-inspect schema state --d", 3) == "--dot\n");
    CHECK(offered("chainbase-inspect stat --d", 2) == "\n");
    CHECK(offered("chainbase-inspect stat sta", 2) == "\n"); // a file's name
    CHECK(offered("chainbase-inspect --h", 1) == "--help\n");
    CHECK(offered("chainbase-inspect --v", 1) == "--version\n");
}

TEST_CASE("the program tells the version that its manual page has") {
    const outcome told = inspect_with("--version");
    CHECK(told.code == 0);
    REQUIRE(told.output.starts_with("chainbase-inspect "));
    const std::string version = told.output.substr(std::string("chainbase-inspect ").size());
    REQUIRE(version.ends_with('\n'));
    CHECK(std::ranges::count(version, '.') == 2);
    CHECK_THAT(content_of(folder + "/chainbase-inspect.1"),
               Contains("\"chainbase " + version.substr(0, version.size() - 1) + "\"") &&
                   Contains("\\-\\-version"));
    CHECK(inspect_with("-V").output == told.output);
}

TEST_CASE("zsh and fish take their completions") {
    if (is_there("zsh")) CHECK(said_by("zsh -n " + folder + "/_chainbase-inspect").empty());
    const std::string zsh = content_of(folder + "/_chainbase-inspect");
    CHECK(zsh.starts_with("#compdef chainbase-inspect\n"));
    CHECK_THAT(zsh, Contains("'--dot:Print a directed graph for Graphviz'"));
    const std::string fish = folder + "/chainbase-inspect.fish";
    CHECK_THAT(content_of(fish), Contains("-f -a schema -d "));
    if (!is_there("fish")) return;
    const scratch_folder home; // where fish makes folders of its own
    const std::string at_home = "HOME=" + home.path().string() + " fish ";
    CHECK(said_by(at_home + "--no-execute " + fish).empty());
    const auto complete = [&](const std::string& line) {
        return said_by(at_home + "-c \"source " + fish + "; complete -C '" + line + "'\"");
    };
    CHECK_THAT(complete("chainbase-inspect st"), Contains("stat\t"));
    CHECK_THAT(complete("chainbase-inspect schema --d"), Contains("--dot\t"));
}

TEST_CASE("descriptions with any characters stay descriptions") {
    const scratch_folder scratch;
    const auto file = [&](const char* name, const std::string& text) {
        std::ofstream(scratch / name) << text;
        return (scratch / name).string();
    };
    const std::string page = odd([](const CLI::App& program) {
        return man_page_of(program, {"odd 1", "2026-01-31", {}, {}});
    });
    CHECK_THAT(page, Contains("\\&.It's \\en") && Contains(".SS outer inner") &&
                         Contains("\n\\&'.dot\n"));
    if (is_there("groff")) CHECK(said_by("groff -man -ww -z " + file("odd.1", page)).empty());
    const std::string bash = file("odd.bash", odd(bash_completion_of));
    CHECK(said_by("bash -c \"source " + bash +
                  "; COMP_WORDS=(odd-one outer inner -); COMP_CWORD=3; _odd_one; "
                  "echo \\${COMPREPLY[@]}\"") == "--help -h --a-flag -a\n");
    const std::string zsh = file("_odd", odd(zsh_completion_of));
    if (is_there("zsh")) CHECK(said_by("zsh -n " + zsh).empty());
    const std::string fish = file("odd.fish", odd(fish_completion_of));
    if (is_there("fish"))
        CHECK_THAT(said_by("HOME=" + scratch.path().string() + " fish -c \"source " + fish +
                           "; complete -C 'odd-one outer inner --a'\""),
                   Contains("--a-flag\tit's: \\fB"));
}
