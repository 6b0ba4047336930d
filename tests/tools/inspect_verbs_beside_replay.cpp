// Every verb of the inspector, again and again beside a replay at full speed; and kills of it at
// any moment, of which the replay notices nothing.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/endless_replay.hpp>
#include <tests/tools/temporary_folder.hpp>
#include <tests/tools/verb_answers.hpp>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
using steady = std::chrono::steady_clock;

namespace {

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

struct verb {
    std::string call; ///< STATE stands for the folder
    bool (*check)(const std::string& output);
    std::set<int> codes{0}; ///< beside a writer that is at work

    /// Whether it may say of such a state that there is nothing to tell.
    [[nodiscard]] bool may_have_none() const { return codes.count(1) + codes.count(2) != 0; }
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
        {"count STATE@checkpoint account --json", check_object, {0, 2}},
        {"digest STATE --json", check_digest, {0, 6}},
        {"top STATE --count 2 --interval 0.1 --json </dev/null", check_top},
        {"warm STATE --dry-run --json", check_warm},
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
    return found.code == 0 ? json::parse(found.output).at("log").at("changes").get<std::uint64_t>()
                           : 0;
}

} // namespace

TEST_CASE("every verb beside a replay at full speed: what it tells holds, whenever it looks") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    endless_replay replay(operations_of_log(), seed);
    const temporary_folder folder;
    const std::string said = folder / "said";
    std::map<std::string, int> answers;
    const auto until = steady::now() + duration();
    for (int rounds = 0; rounds < 2 || steady::now() < until; ++rounds)
        for (const verb& each : verbs()) {
            replay.be_at_work();
            const outcome found = inspect_with(call_of(each, replay.state()) + " 2>" + said);
            INFO(each.call << " ended with " << found.code << ": " << read_file(said)
                           << found.output.substr(0, 2000));
            if (each.codes.count(found.code) == 0) {
                REQUIRE(found.code == 1); // no crash
                REQUIRE(replay.is_about_to_end());
                continue;
            }
            if (found.code == 1 || found.code == 2) continue;
            answers[each.call] += each.check(found.output);
        }
    replay.finish();
    for (const verb& each : verbs()) {
        INFO(each.call);
        if (!each.may_have_none()) CHECK(answers[each.call] > 0);
    }
}

TEST_CASE("a look that is killed at any moment leaves no lock, and the replay goes on") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    endless_replay replay(operations_of_log(), seed);
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
