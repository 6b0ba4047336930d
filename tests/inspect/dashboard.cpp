// The screen of `top`, without a terminal.

#include <tools/inspect/top/dashboard.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::inspect;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

type_report type_with(std::string name, std::uint64_t objects, std::uint64_t values) {
    type_report type;
    type.name = std::move(name);
    type.objects = objects;
    type.nodes.bytes.values = values;
    type.nodes.bytes.slack = 1024;
    type.nodes.bytes.total = values + 1024;
    type.nodes.file_bytes = values + 1024;
    return type;
}

top_sample sample_with(std::vector<type_report> types) {
    top_sample sample;
    sample.now.state.types = std::move(types);
    sample.now.state.condition = condition::writer_running;
    sample.now.state.consistent = true;
    sample.now.state.writer = "4711";
    sample.now.state.revision = 42;
    for (const type_report& type : sample.now.state.types)
        sample.growth.types.push_back({type.name, 0, 0, 0});
    return sample;
}

std::vector<std::string> text_of(dashboard& board, std::size_t columns = 100,
                                 std::size_t lines = 30) {
    std::vector<std::string> text;
    for (const styled_line& line : board.screen(columns, lines))
        text.push_back(plain_text(line));
    return text;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += line + "\n";
    return text;
}

/// The first word of each row of the table.
std::vector<std::string> rows_of(dashboard& board, std::size_t lines = 30) {
    const auto text = text_of(board, 100, lines);
    std::vector<std::string> names;
    for (std::size_t line = 12; line + 1 < text.size(); ++line)
        if (const auto end = text[line].find(' '); end != 0 && !text[line].empty())
            names.push_back(text[line].substr(0, end));
    return names;
}

/// A dashboard with one sample.
struct filled_board : dashboard {
    explicit filled_board(top_sample sample) : dashboard("/a/state", 1s, true) {
        add(std::move(sample));
    }
};

std::vector<type_report> three() {
    return {type_with("pear", 5, 300'000), type_with("apple", 70, 100'000),
            type_with("fig", 6, 200'000)};
}

bool precede(const std::vector<std::string>& names, const std::vector<std::string>& order) {
    auto at = names.begin();
    for (const std::string& each : order)
        if (at = std::find(at, names.end(), each); at == names.end()) return false;
    return true;
}

} // namespace

TEST_CASE("dashboard: everything of a sample has its line") {
    top_sample sample = sample_with(three());
    sample.rates.emplace();
    sample.rates->revisions = 3.25;
    sample.rates->changes = 12'345;
    sample.rates->objects = 678;
    sample.rates->growth = -2048;
    sample.rates->disk_read_per_second = 4096;
    sample.rates->disk_written_per_second = 8192;
    sample.rates->major_faults_per_second = 1.5;
    sample.now.state.log.cached = {5 << 20, 2 << 20, 0, 3 << 20};
    sample.growth.whole.used_bytes = 5 << 20;
    sample.growth.seconds = 60;
    sample.checkpoints = {{7, 40, 39, 1'000, 1 << 20, true}, {6, 30, 29, 970, 1 << 20, true}};
    sample.now.time = std::chrono::system_clock::from_time_t(1'012);
    sample.now.locks.writer = {4711, true, lock_report::doing::waiting, 0.012};
    sample.now.archive.emplace();
    sample.now.archive->figures.hits_in_archive.count = 30;
    sample.now.archive->figures.misses.count = 10;
    sample.now.archive->figures.failures = 2;
    filled_board board(sample);
    const auto text = text_of(board);
    REQUIRE(text.size() == 30);
    CHECK_THAT(text[0], Contains("/a/state") && Contains("00:16:52 UTC  every 1 s"));
    CHECK_THAT(text[1], Contains("writer running, process 4711") && Contains("revision 42"));
    CHECK_THAT(text[2], Contains("3.2 revisions/s") && Contains("12,345 changes/s") &&
                            Contains("678 objects/s"));
    CHECK_THAT(text[3], Contains("█") && Contains("most 12,345"));
    CHECK_THAT(text[4], Contains("585.9 KiB of 588.9 KiB in use, +5.0 MiB/min"));
    CHECK_THAT(text[5], Contains("3.0 MiB missing, 2.0 MiB dirty   1.5 faults/s, read 4.0 KiB/s") &&
                            Contains("written 8.0 KiB/s"));
    CHECK_THAT(text[6], Contains("writer waits 12.0 ms") && Contains("readers 0"));
    CHECK_THAT(text[8], Contains("2 calls failed") && Contains("75.0 % found"));
    CHECK_THAT(text[9], Contains("12 s old, 2 revisions behind") && Contains("redo log"));
    CHECK_THAT(text[10], Contains("1 memory"));
    CHECK_THAT(text[29], StartsWith("q quit"));
}

TEST_CASE("dashboard: at 80 columns no line of figures is cut, however large they are") {
    top_sample sample = sample_with(three());
    sample.now.state.writer = "4194304";
    sample.now.state.revision = 1'000'000'000;
    sample.now.state.sessions = 999;
    sample.rates.emplace();
    sample.rates->revisions = 99'999;
    sample.rates->changes = 9'999'999;
    sample.rates->objects = 9'999'999;
    sample.rates->archive_finds = 999'999;
    sample.rates->archive_rows = 999'999;
    sample.growth.seconds = 60;
    sample.growth.whole.used_bytes = 1023.9 * (1 << 20);
    sample.checkpoints = {{7, 1'000, 39, 1'000, 1023 << 20, true}};
    sample.now.time = std::chrono::system_clock::from_time_t(1'012);
    sample.now.locks.writer = {4'194'304, true, lock_report::doing::waiting, 0.999};
    for (std::uint32_t i = 0; i < 100; ++i)
        sample.now.locks.readers.push_back(
            {i, 4'194'304, 4'194'304, "reader", true, lock_report::doing::waiting, 1});
    sample.now.archive.emplace();
    sample.now.archive->figures.hits_in_archive.count = 30;
    sample.now.archive->figures.hits_in_archive.p99_ns = 999'900'000;
    dashboard board("/a/state", 1s, true);
    board.look_at(sample.now.locks);
    board.add(std::move(sample));
    const auto wide = text_of(board, 200);
    const auto narrow = text_of(board, 80);
    for (std::size_t line : {1, 2, 4, 5, 6, 7, 8, 9})
        CHECK(narrow[line] == wide[line]);
    CHECK_THAT(narrow[7], Contains("writer waits 100.0 %, readers wait 100.0 %"));
}

TEST_CASE("dashboard: columns sort both ways and beyond the last is the state's order") {
    filled_board board(sample_with(three()));
    CHECK(precede(rows_of(board), {"pear", "fig", "apple"})); // by bytes in use
    board.press(key_action::reverse);
    CHECK(precede(rows_of(board), {"apple", "fig", "pear"}));
    board.press(key_action::previous_column); // growth; another column is never reversed
    board.press(key_action::previous_column);
    CHECK_THAT(text_of(board)[11], Contains("objects v"));
    CHECK(precede(rows_of(board), {"apple", "fig", "pear"}));
    CHECK(rows_of(board).back() == "a"); // the note; before it what has no objects
    board.press(key_action::previous_column);
    CHECK(precede(rows_of(board), {"apple", "fig", "pear"})); // names
    CHECK(precede(rows_of(board), {"(header)", "apple"}));
    board.press(key_action::previous_column);
    CHECK(precede(rows_of(board), {"pear", "apple", "fig", "(buffers)"}));
    CHECK_THAT(text_of(board)[11], !Contains("v ") && StartsWith("type "));
    board.press(key_action::next_column);
    CHECK_THAT(text_of(board)[11], StartsWith("type v"));
}

TEST_CASE("dashboard: rows scroll to their ends and no further") {
    std::vector<type_report> many;
    for (int each = 0; each < 60; ++each)
        many.push_back(type_with(std::string("t") += std::to_string(each), 1, 1'000'000 - each));
    filled_board board(sample_with(many));
    CHECK(rows_of(board).front() == "t0");
    CHECK_THAT(joined(text_of(board)), Contains("rows 1 to 16 of 63"));
    board.press(key_action::up);
    CHECK(rows_of(board).front() == "t0");
    board.press(key_action::down);
    CHECK(rows_of(board).front() == "t1");
    board.press(key_action::page_down);
    CHECK(rows_of(board).front() == "t17");
    board.press(key_action::last);
    CHECK_THAT(joined(text_of(board)), Contains("rows 48 to 63 of 63"));
    board.press(key_action::down);
    CHECK_THAT(joined(text_of(board)), Contains("rows 48 to 63 of 63"));
    board.press(key_action::page_up);
    CHECK_THAT(joined(text_of(board)), Contains("rows 32 to 47 of 63"));
    board.press(key_action::first);
    CHECK(rows_of(board).front() == "t0");
    CHECK_THAT(joined(text_of(board, 100, 90)), !Contains("rows 1"));
}

TEST_CASE("dashboard: keys choose a table, pause, change the interval, help and end") {
    filled_board board(sample_with(three()));
    board.press(key_action::view_3);
    CHECK_THAT(joined(text_of(board)), Contains("who ") && Contains("no readers"));
    board.press(key_action::next_view);
    CHECK_THAT(joined(text_of(board)), Contains("no process has counted"));
    board.press(key_action::next_view);
    CHECK_THAT(joined(text_of(board)), Contains("no checkpoint is there"));
    board.press(key_action::next_view);
    CHECK_THAT(joined(text_of(board)), Contains("in use v"));
    board.press(key_action::previous_view);
    CHECK_THAT(joined(text_of(board)), Contains("no checkpoint is there"));
    board.press(key_action::view_2);
    CHECK_THAT(joined(text_of(board)), Contains("write turns under way"));
    board.press(key_action::pause);
    CHECK(board.is_paused());
    CHECK_THAT(text_of(board)[0], Contains("PAUSED"));
    board.press(key_action::pause);
    CHECK_FALSE(board.is_paused());
    board.press(key_action::longer_interval);
    CHECK(board.interval() == 2s);
    for (int presses = 0; presses < 20; ++presses)
        board.press(key_action::shorter_interval);
    CHECK(board.interval() == 100ms);
    for (int presses = 0; presses < 20; ++presses)
        board.press(key_action::longer_interval);
    CHECK(board.interval() == 60s);
    board.press(key_action::help);
    CHECK_THAT(joined(text_of(board)), Contains("any key leads back"));
    board.press(key_action::none);
    CHECK_THAT(joined(text_of(board)), Contains("any key leads back"));
    board.press(key_action::pause);
    CHECK_FALSE(board.is_paused());
    CHECK_THAT(joined(text_of(board)), Contains("write turns under way"));
    board.press(key_action::help);
    board.press(key_action::other);
    CHECK_THAT(joined(text_of(board)), Contains("write turns under way"));
    CHECK_FALSE(board.is_over());
    board.press(key_action::quit);
    CHECK(board.is_over());
}

TEST_CASE("dashboard: an interval between two steps goes to the next ones") {
    dashboard board("s", 1500ms, true);
    board.press(key_action::longer_interval);
    CHECK(board.interval() == 2s);
    dashboard other("s", 1500ms, true);
    other.press(key_action::shorter_interval);
    CHECK(other.interval() == 1s);
    dashboard long_one("s", 3'600s, true);
    long_one.press(key_action::longer_interval);
    CHECK(long_one.interval() == 3'600s);
    long_one.press(key_action::shorter_interval);
    CHECK(long_one.interval() == 60s);
}

TEST_CASE("dashboard: what is not known of memory and disk is not guessed") {
    top_sample sample = sample_with(three());
    sample.now.state.log.cached = {5 << 20, std::nullopt, std::nullopt, std::nullopt};
    sample.rates.emplace();
    filled_board board(sample);
    CHECK_THAT(text_of(board)[5], Contains("? missing, ? dirty") && !Contains("/s"));
}

TEST_CASE("dashboard: a failure is told above what was last seen and goes with the next sample") {
    filled_board board(sample_with(three()));
    board.add_failure("it is gone\x1b[2J");
    CHECK_THAT(text_of(board)[1], StartsWith("not readable now: it is gone?[2J"));
    CHECK_THAT(joined(text_of(board)), Contains("pear"));
    board.add(sample_with(three()));
    CHECK_THAT(text_of(board)[1], Contains("writer running"));
}

TEST_CASE("dashboard: no name moves the cursor") {
    top_sample sample = sample_with({type_with("\x1b[2J\n\xff\xC3\xA9", 1, 10)});
    sample.now.state.writer = "\x1b]0;title\x07";
    sample.now.locks.readers.push_back({});
    sample.now.locks.readers.back().name = "\r\x9b";
    dashboard board("/tmp/\x1b[31m\xE2\x82\xAC", 1s, false);
    board.add(sample);
    for (const key_action key : {key_action::view_1, key_action::view_2, key_action::view_3,
                                 key_action::view_4, key_action::view_5, key_action::help}) {
        board.press(key);
        for (const std::string& line : text_of(board))
            CHECK(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; }));
    }
}

TEST_CASE("dashboard: no line is longer nor are there more than the terminal has") {
    const std::uint32_t seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto upto = [&](std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most)(random);
    };
    std::vector<type_report> types;
    for (std::size_t each = upto(70); each > 0; --each)
        types.push_back(type_with(std::string(upto(90), 'n'), upto(1U << 30), upto(1U << 30)));
    filled_board board(sample_with(types));
    for (int times = 0; times < 2'000; ++times) {
        board.press(static_cast<key_action>(
            2 + upto(static_cast<std::size_t>(key_action::view_5) - 2))); // all but to end
        if (times % 7 == 0) board.add(sample_with(types));
        const std::size_t columns = 1 + upto(200);
        const std::size_t lines = 1 + upto(80);
        const auto screen = board.screen(columns, lines);
        REQUIRE(screen.size() <= lines);
        for (const styled_line& line : screen)
            REQUIRE(columns_of(line) <= columns);
        if (columns < dashboard::min_columns || lines < dashboard::min_lines)
            REQUIRE_THAT(
                plain_text(screen.at(0)),
                StartsWith(std::string("too small").substr(0, std::min<std::size_t>(9, columns))));
    }
}

TEST_CASE("dashboard: history begins anew with another state and keeps a bound") {
    top_sample sample = sample_with(three());
    sample.rates.emplace();
    sample.rates->changes = 500;
    dashboard board("s", 1s, true);
    for (int times = 0; times < 2'000; ++times)
        board.add(sample);
    CHECK_THAT(text_of(board)[3], Contains("most 500"));
    CHECK(columns_of(text_of(board)[3]) == 100);
    board.add(sample_with(three()));
    CHECK_THAT(text_of(board)[3], Contains("most 0"));
}

TEST_CASE("growth: a type that is made meanwhile is measured from then on") {
    growth_meter meter;
    const auto begin = growth_meter::clock::now();
    const auto report = [](std::vector<type_report> types) {
        state_report all;
        all.types = std::move(types);
        return all;
    };
    CHECK(meter.add(report({}), begin).types.empty());
    CHECK(meter.add(report({type_with("fig", 10, 100)}), begin + 1s).types[0].objects == 0);
    const auto now = meter.add(report({type_with("fig", 40, 160)}), begin + 31s);
    CHECK(now.types[0].objects == Approx(60));
    CHECK(now.types[0].used_bytes == Approx(120));
    CHECK(now.seconds == Approx(31));
}
