#include <catch2/catch.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace chainbase::test;

namespace {

/// What a browser makes of a page, with the messages of its console; empty if there is no browser.
std::string rendered(const std::filesystem::path& page, const std::filesystem::path& profile) {
    if (std::system("command -v chromium >/dev/null 2>&1") != 0) return "";
    const std::string command = "timeout 60 chromium --headless --no-sandbox --disable-gpu"
                                " --user-data-dir=" +
                                profile.string() + " --window-size=1200,900 --dump-dom file://" +
                                page.string() + " --enable-logging=stderr 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string all;
    std::array<char, 4096> piece;
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
        all.append(piece.data(), got);
    ::pclose(pipe);
    return all;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t found = text.find(part); found != std::string::npos;
         found = text.find(part, found + 1))
        ++count;
    return count;
}

} // namespace

TEST_CASE("a browser draws the treemap and the map without a complaint") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    REQUIRE(
        inspect_with("tree " + state.string() + " --html " + (scratch / "t.html").string()).code ==
        0);
    REQUIRE(inspect_with("map " + state.string() + " --svg " + (scratch / "m.svg").string() +
                         " >/dev/null")
                .code == 0);
    const std::string page = rendered(scratch / "t.html", scratch / "profile");
    if (page.empty()) {
        WARN("skipped: there is no chromium");
        return;
    }
    CHECK(occurrences(page, "class=\"tile") > 20);
    CHECK(page.find("<td><button type=\"button\">segment</button></td>") != std::string::npos);
    CHECK(page.find("CONSOLE") == std::string::npos);

    const std::string picture = rendered(scratch / "m.svg", scratch / "profile");
    CHECK(picture.find("parsererror") == std::string::npos);
    CHECK(picture.find("Memory map of") != std::string::npos);
    CHECK(picture.find("CONSOLE") == std::string::npos);
}
