// `top` on a terminal: what is on the screen, and that the terminal is given back.

#include <chainbase/lock/process_lock.hpp>
#include <tools/inspect/memory/live_sample.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_folder.hpp>
#include <tests/inspect/terminal_program.hpp>
#include <tests/inspect/unchanged.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

std::vector<std::string> top_of(const std::filesystem::path& state) {
    return {"top", state.string(), "--interval", "0.1"};
}

/// The figure behind a word, as in "revision 123,".
std::optional<std::string> figure_after(const std::string& word, const std::string& text) {
    std::smatch found;
    if (!std::regex_search(text, found, std::regex(word + " ([0-9,]+)"))) return std::nullopt;
    return found[1];
}

terminal_surroundings with(std::map<std::string, std::string> environment) {
    return {100, 30, std::move(environment)};
}

} // namespace

TEST_CASE("top: figures move beside a writer and every table can be seen") {
    const sample_folder folder;
    const auto& state = folder.state;
    writer_process writer(state);
    terminal_program top(top_of(state));
    REQUIRE(top.shows("writer running, process " + std::to_string(writer.process())));
    REQUIRE(top.shows("q quit")); // the last line that is sent
    const std::string before = "revision " + figure_after("revision", top.screen().text()).value();
    CHECK(top.no_longer_shows(before + ","));
    CHECK_THAT(top.screen().text(), Contains("account") && Contains("(undo log)"));
    for (const auto& [key, text] :
         {std::pair("2", "write turns under way"), std::pair("3", "process"),
          std::pair("4", "no process has counted"), std::pair("5", "checkpoints"),
          std::pair("\t", "in use v"), std::pair("?", "any key leads back"),
          std::pair("x", "in use v")}) {
        INFO(key);
        top.type(key);
        CHECK(top.shows(text));
    }
    REQUIRE(top.shows("q quit"));
    CHECK_THAT(top.screen().line(0), Contains(state.filename().string()));
    CHECK_THAT(top.screen().line(29), Contains("q quit"));
    CHECK(top.screen().unknown().empty());
    top.type("q");
    CHECK(top.end() == 0);
    CHECK(writer.stop());
}

TEST_CASE("top: what is sent for a change leaves the screen as a new one would be") {
    const sample_folder folder;
    const auto& state = folder.state;
    terminal_program moved(top_of(state));
    REQUIRE(moved.shows("closed"));
    moved.type("3");
    REQUIRE(moved.shows("process"));
    moved.type("?");
    REQUIRE(moved.shows("any key"));
    moved.type("?");
    moved.type("1");
    REQUIRE(moved.shows("in use v"));
    moved.type("p");
    REQUIRE(moved.shows("PAUSED"));
    terminal_program fresh(top_of(state));
    REQUIRE(fresh.shows("q quit"));
    REQUIRE(fresh.shows("changes/s"));
    fresh.type("p");
    REQUIRE(fresh.shows("PAUSED"));
    for (const std::size_t line : {1, 4, 8, 9, 10, 11, 12, 13, 20, 28, 29}) {
        INFO(line);
        CHECK(moved.screen().line(line) == fresh.screen().line(line));
    }
}

TEST_CASE("top: another size is another screen and too small a one says so") {
    const sample_folder folder;
    const auto& state = folder.state;
    terminal_program top(top_of(state));
    REQUIRE(top.shows("q quit"));
    top.resize(50, 10);
    REQUIRE(top.shows("too small: 50x10"));
    top.resize(120, 40);
    REQUIRE(top.shows("q quit"));
    CHECK_THAT(top.screen().line(39), Contains("q quit"));
    top.resize(60, 14);
    REQUIRE(top.shows("q quit"));
    CHECK_THAT(top.screen().line(13), Contains("q quit"));
    top.resize(3, 1);
    top.read_for(200);
    top.resize(80, 24);
    REQUIRE(top.shows("q quit"));
    top.type("q");
    CHECK(top.end() == 0);
}

TEST_CASE("top: a key and each signal end it and the terminal is as before") {
    const sample_folder folder;
    const auto& state = folder.state;
    for (const int number : {0, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
        INFO(number);
        terminal_program top(top_of(state), with({{"TERM", "xterm"}}));
        top.read_for(300);
        REQUIRE_THAT(top.sent(), Contains("\x1b[?1049h") && Contains("q quit"));
        CHECK_FALSE(top.is_restored()); // it reads keys one by one
        number == 0 ? top.type("q") : top.signal(number);
        CHECK(top.end() == 0);
        CHECK(top.is_restored());
        const std::size_t left = top.sent().rfind("\x1b[?1049l");
        REQUIRE(left != std::string::npos);
        CHECK(top.sent().find("\x1b[?25h") != std::string::npos);
        CHECK(top.sent().find("\x1b[?1049h", left) == std::string::npos);
    }
}

TEST_CASE("top: ctrl-c ends it") {
    const sample_folder folder;
    const auto& state = folder.state;
    terminal_program top(top_of(state));
    REQUIRE(top.shows("q quit"));
    top.type("\x03");
    CHECK(top.end() == 0);
    CHECK(top.is_restored());
}

TEST_CASE("top: a writer that comes, dies and comes back, and a state that goes") {
    const sample_folder folder;
    const auto& state = folder.state;
    terminal_program top(top_of(state));
    REQUIRE(top.shows("closed"));
    for (int times = 0; times < 2; ++times) {
        writer_process writer(state);
        REQUIRE(top.shows("writer running, process " + std::to_string(writer.process())));
        writer.kill();
        REQUIRE(top.shows("the last writer died"));
    }
    const std::int64_t revision = reopen_sample_state(state);
    REQUIRE(top.shows("closed"));
    CHECK(top.shows("revision " + std::to_string(revision)));
    std::filesystem::remove_all(state);
    REQUIRE(top.shows("not readable now"));
    build_sample_state(state);
    REQUIRE(top.shows("closed"));
    top.type("q");
    CHECK(top.end() == 0);
}

TEST_CASE("top: nothing is changed, and killed at any moment it leaves no lock") {
    const sample_folder folder;
    const auto& state = folder.state;
    const folder_image before = image_of(state);
    {
        terminal_program top(top_of(state));
        REQUIRE(top.shows("q quit"));
        top.read_for(300);
    }
    CHECK(image_of(state) == before);
    writer_process writer(state);
    for (int pause = 1; pause < 20; ++pause) {
        terminal_program top(top_of(state));
        top.read_for(7 * pause);
        top.signal(SIGKILL);
        CHECK(top.end() == 128 + SIGKILL);
        CHECK(lock_report::read(state).readers.empty());
    }
    const inspect::live_sampler sampler(state);
    const std::uint64_t changes = sampler.take().state.changes;
    while (sampler.take().state.changes == changes) // it goes on
        std::this_thread::sleep_for(10ms);
    CHECK(writer.stop());
}

TEST_CASE("top: without a terminal, or with one that cannot do it, exit 2 and what to do instead") {
    const sample_folder folder;
    const auto& state = folder.state;
    const outcome piped = inspect_with("top " + state.string() + " 2>&1 </dev/null");
    CHECK(piped.code == 2);
    CHECK_THAT(piped.output, Contains("stat DIR --watch --json"));
    for (const char* name : {"dumb", "unknown", "no-such-terminal", "", "-"}) {
        INFO(name);
        terminal_program top(top_of(state), with({{"TERM", name}}));
        CHECK(top.end() == 2);
        CHECK_THAT(top.sent(), Contains("TERM=") && Contains("--watch --json"));
        CHECK(top.is_restored());
    }
    terminal_program missing(top_of(folder.scratch / "none"));
    CHECK(missing.end() == 1);
    CHECK_THAT(missing.sent(), Contains("no chainbase state") && !Contains("\x1b[?"));
}

TEST_CASE("top: colours unless NO_COLOR says otherwise, ASCII where the locale has nothing else") {
    const sample_folder folder;
    const auto& state = folder.state;
    const auto sent_with = [&](std::map<std::string, std::string> environment) {
        environment["TERM"] = "xterm-256color";
        terminal_program top({"top", state.string(), "--interval", "0.1", "--count", "4"},
                             with(std::move(environment)));
        CHECK(top.end() == 0);
        return top.sent();
    };
    const std::regex colour("\x1b\\[([0-9]+;)*3[0-7](;[0-9]+)*m");
    const auto is_ascii = [](const std::string& text) {
        return std::ranges::none_of(text, [](char c) { return (c & 0x80) != 0; });
    };
    const std::string usual = sent_with({});
    CHECK(std::regex_search(usual, colour));
    CHECK_FALSE(is_ascii(usual));
    CHECK_FALSE(std::regex_search(sent_with({{"NO_COLOR", "1"}}), colour));
    CHECK(std::regex_search(sent_with({{"NO_COLOR", ""}}), colour)); // empty: not set
    CHECK(is_ascii(sent_with({{"LC_ALL", "C"}})));
}
