// Two calls that make the segment of one state anew at once: one may be told that the other is at
// work, and the state is whole and the same, whatever the order of their steps.
#include <catch2/catch.hpp>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/support/random_source.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int rounds = 20;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// What two calls gave that were begun at once, the second one a little later.
struct pair_of_calls {
    pair_of_calls(const made_state& state, const std::string& first, const std::string& second,
                  std::uint32_t microseconds) {
        const fs::path a = state.folder / "first";
        const fs::path b = state.folder / "second";
        const std::string delay = std::to_string(microseconds + 1'000'000).substr(1);
        const outcome both =
            inspect_with(first + " >" + a.string() + " 2>&1 & sleep 0." + delay +
                         "; " CHAINBASE_INSPECT_PROGRAM " " + second + " >" + b.string() +
                         " 2>&1; second=$?; wait $!; echo $? $second");
        codes[0] = std::stoi(both.output);
        codes[1] = std::stoi(both.output.substr(both.output.find(' ')));
        said[0] = text_of(a);
        said[1] = text_of(b);
    }

    int codes[2];
    std::string said[2];
};

/// Nothing is left of what was made, or of what was set aside.
void require_no_remains(const made_state& state) {
    for (const auto& entry : fs::directory_iterator(state.path())) {
        const std::string name = entry.path().filename();
        INFO(name);
        const bool is_remains = name.starts_with("segment.") && name != "segment.rebuilt.lock";
        REQUIRE_FALSE(is_remains);
    }
}

bool is_told_of_other(const std::string& said) {
    return said.find("open for writing") != std::string::npos ||
           said.find("opened it for writing meanwhile") != std::string::npos ||
           said.find("segment.rebuilt.lock") != std::string::npos ||
           said.find("open it again") != std::string::npos ||
           said.find("/lock: ") != std::string::npos;
}

} // namespace

TEST_CASE("two calls that make the segment anew at once leave the state whole and the same") {
    const std::string second = GENERATE("compact", "repair --yes");
    const std::uint64_t seed = test_seed(113);
    random_source random(seed);
    const with_checkpoint state(20'000);
    const std::string content = state.content();
    const std::string first_call = "compact " + state.path();
    const std::string second_call = second.substr(0, second.find(' ')) + " " + state.path() +
                                    (second == "compact" ? "" : " --yes");
    int both_done = 0;
    int one_refused = 0;
    for (int round = 0; round < rounds; ++round) {
        const pair_of_calls calls(state, first_call, second_call, random.below(120'000));
        INFO("seed " << seed << ", round " << round << ": " << second << "\n"
                     << calls.codes[0] << ": " << calls.said[0] << calls.codes[1] << ": "
                     << calls.said[1]);
        int done = 0;
        for (int n = 0; n < 2; ++n) {
            REQUIRE((calls.codes[n] == 0 || calls.codes[n] == 1));
            done += calls.codes[n] == 0;
            if (calls.codes[n] == 1) REQUIRE(is_told_of_other(calls.said[n]));
        }
        both_done += done == 2;
        one_refused += done == 1;
        REQUIRE(done > 0);
        require_no_remains(state);
        REQUIRE(state.content() == content);
        state.require_sound();
        REQUIRE(state.run("check", "--checkpoint").code == 0);
        database db(state.path(), with_checkpoints());
        db.add_type<account>("account");
        REQUIRE(db.opened().how == opening::way::attached);
        REQUIRE(db.count<account>() == 10'000);
    }
    WARN("seed " << seed << ", " << second << ": both done " << both_done << " times, one refused "
                 << one_refused << " times");
}
