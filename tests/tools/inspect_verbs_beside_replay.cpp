// Every verb of the inspector, again and again beside a replay at full speed; and kills of it at
// any moment, of which the replay notices nothing.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/generated_logs.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
using steady = std::chrono::steady_clock;

namespace {

namespace fs = std::filesystem;

bool is_soak() {
    return test_operations(0) >= 1'000'000;
}
/// A soak takes minutes.
std::chrono::seconds duration() {
    return std::chrono::seconds(is_soak() ? 240 : 10);
}
/// Enough that most looks are at a writer that is neither opening nor closing.
std::uint64_t operations_of_log() {
    return std::max<std::uint64_t>(150'000, short_test_operations(1'500'000));
}

/// A driver that replays one log into a fresh state after the other. The test goes on in the same
/// state until next() is called.
class endless_replay {
public:
    explicit endless_replay(std::uint64_t seed) : log_(social_chain(operations_of_log(), seed)) {}

    /// Waits until it writes blocks. At the end of a log it begins with a new state.
    void be_at_work() {
        if (run_ && !run_->is_running()) end();
        if (!run_) start();
        while (!is_writing()) {
            if (!run_->is_running()) {
                end();
                start();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    /// Lets it come to its end: as it does when nobody looks.
    void end() {
        const driver_run ended = run_->wait();
        run_.reset();
        INFO(ended.err);
        REQUIRE(ended.code() == 0);
        const std::string digest = ended.json().at("state_digest");
        if (digest_.empty()) digest_ = digest;
        CHECK(digest == digest_);
        ++ends_;
    }
    /// Whether it ends within the next seconds, as one does whose writer is about to close the
    /// state.
    [[nodiscard]] bool is_about_to_end() const {
        for (int tenths = 0; tenths < 30 && run_->is_running(); ++tenths)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return !run_->is_running();
    }
    void finish() {
        if (run_) end();
    }

    [[nodiscard]] std::string state() const { return log_.folder / ("state" + suffix_); }
    [[nodiscard]] int ends() const noexcept { return ends_; }

private:
    void start() {
        fs::remove_all(state());
        suffix_ = std::to_string(++started_);
        run_.emplace(std::vector<std::string>{"replay", "--block-log", log_.path().string(),
                                              "--state", state(), "--json"});
    }
    [[nodiscard]] bool is_writing() const {
        if (!fs::exists(fs::path(state()) / "archive")) return false;
        const outcome count =
            inspect_with("count " + state() + " applied_block --json 2>/dev/null");
        return count.code == 0 && json::parse(count.output).at("rows") > 0;
    }

    generated_log log_;
    std::optional<driver_process> run_;
    std::string suffix_;
    std::string digest_;
    int started_ = 0;
    int ends_ = 0;
};

std::uint64_t number(const json& from, const char* name) {
    return from.at(name).get<std::uint64_t>();
}

void require_sums(const json& part) {
    REQUIRE(number(part, "header") + number(part, "links") + number(part, "values") +
                number(part, "slack") + number(part, "punched") ==
            number(part, "total"));
    REQUIRE(number(part, "files") == number(part, "total"));
}

void check_stat(const std::string& output) {
    const json found = json::parse(output);
    if (!found.at("consistent").get<bool>()) return;
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
}

void check_map(const std::string& output) {
    const json found = json::parse(output);
    for (const json& file : found.at("files"))
        REQUIRE(number(file, "header") + number(file, "in_use") + number(file, "free") +
                    number(file, "never_used") ==
                number(file, "bytes"));
}

std::uint64_t bytes_below(const json& part) {
    if (!part.contains("children")) return number(part, "bytes");
    std::uint64_t sum = 0;
    for (const json& child : part.at("children"))
        sum += bytes_below(child);
    REQUIRE(sum == number(part, "bytes"));
    return sum;
}

void check_tree(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(bytes_below(found.at("tree")) == number(found, "bytes"));
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

/// In the order of the key, which the id makes unique.
void check_comments(const std::string& output) {
    std::uint64_t told = 0;
    std::pair<std::int64_t, std::uint64_t> before{INT64_MIN, 0};
    for (const json& row : lines_of(output, told)) {
        const std::pair now{row.at("cashout_time").get<std::int64_t>(), number(row, "id")};
        REQUIRE(now > before);
        before = now;
    }
}

/// Each block tells how many there were, which is its number: a torn one would not.
void check_blocks(const std::string& output) {
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
}

void check_object(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(found.at("schema_version") == 1);
}

void check_one_row(const std::string& output) {
    const json found = json::parse(output);
    REQUIRE(found.at("rows").size() == 1);
    REQUIRE(found.at("rows").at(0).at("id") == 0);
}

void check_sample(const std::string& output) {
    std::uint64_t told = 0;
    std::set<std::uint64_t> ids;
    for (const json& row : lines_of(output, told))
        REQUIRE(ids.insert(number(row, "id")).second);
}

struct verb {
    std::string call; ///< STATE stands for the folder
    void (*check)(const std::string& output);
    std::set<int> codes{0};
};

const std::vector<verb>& verbs() {
    static const std::vector<verb> all{
        {"info STATE --json", check_object},
        {"stat STATE --json", check_stat},
        {"map STATE --json", check_map},
        {"tree STATE --json", check_tree},
        {"schema STATE --json", check_object},
        {"undo STATE --json", check_object},
        {"locks STATE --json", check_object},
        {"archive STATE --json", check_object, {0, 1}}, // it moves on while it is read
        {"count STATE account --json", check_object},
        {"get STATE account id 0 --json", check_one_row},
        {"range STATE comment by_cashout_time --limit 300 --json", check_comments},
        {"sample STATE account --rows 20 --json", check_sample},
        {"dump STATE applied_block", check_blocks},
        {"diff STATE STATE --type applied_block --json", check_object, {0, 5}},
        {"check STATE --checkpoint --json", check_object, {0, 1}}, // there may be none yet
    };
    return all;
}

std::string call_of(const verb& one, const std::string& state) {
    std::string call = one.call;
    for (std::size_t at = 0; (at = call.find("STATE", at)) != std::string::npos; at += state.size())
        call.replace(at, 5, state);
    return call;
}

/// The inspector in a process that can be killed, with a look that takes long.
class looking_process {
public:
    explicit looking_process(const std::string& call) {
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ != 0) return;
        const std::string command =
            "exec " CHAINBASE_INSPECT_PROGRAM " " + call + " >/dev/null 2>&1";
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    looking_process(const looking_process&) = delete;
    looking_process& operator=(const looking_process&) = delete;
    ~looking_process() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }

private:
    pid_t process_ = 0;
};

std::uint64_t changes_of(const std::string& state) {
    const outcome found = inspect_with("stat " + state + " --json 2>/dev/null");
    return found.code == 0 ? number(json::parse(found.output).at("log"), "changes") : 0;
}

} // namespace

TEST_CASE("every verb beside a replay at full speed: what it tells holds, whenever it looks") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    endless_replay replay(seed);
    std::map<std::string, int> answers;
    const auto until = steady::now() + duration();
    for (int rounds = 0; rounds < 2 || steady::now() < until; ++rounds)
        for (const verb& each : verbs()) {
            replay.be_at_work();
            const outcome found = inspect_with(call_of(each, replay.state()) + " 2>&1");
            INFO(each.call << " ended with " << found.code << ": " << found.output.substr(0, 2000));
            if (each.codes.count(found.code) == 0) {
                REQUIRE(found.code == 1); // no crash
                REQUIRE(replay.is_about_to_end());
                continue;
            }
            if (found.code == 1) continue;
            each.check(found.output);
            ++answers[each.call];
        }
    replay.finish();
    for (const verb& each : verbs()) {
        INFO(each.call);
        if (each.codes.count(1) == 0) CHECK(answers[each.call] > 0);
    }
}

TEST_CASE("a look that is killed at any moment leaves no lock, and the replay goes on") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    endless_replay replay(seed);
    const int kills = is_soak() ? 3000 : 120;
    for (int killed = 0; killed < kills; ++killed) {
        replay.be_at_work();
        const verb& one = verbs()[random.below(static_cast<std::uint32_t>(verbs().size()))];
        {
            const looking_process look(call_of(one, replay.state()));
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
        }
        if (killed % 10 != 0) continue;
        INFO(killed << " kills, the last one of " << one.call);
        const std::uint64_t before = changes_of(replay.state());
        const auto until = steady::now() + std::chrono::seconds(60);
        while (changes_of(replay.state()) <= before && !replay.is_about_to_end())
            REQUIRE(steady::now() < until);
    }
    replay.finish(); // nobody holds it up, and the digest is what it was
    CHECK(replay.ends() > 0);
    const outcome sound = inspect_with("check " + replay.state() + " 2>&1");
    INFO(sound.output);
    CHECK(sound.code == 0);
    const json locks = json::parse(inspect_with("locks " + replay.state() + " --json").output);
    INFO(locks.dump(1));
    for (const json& reader : locks.at("readers"))
        CHECK(reader.at("state") != "reading");
}
