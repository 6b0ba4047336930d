// Who may not have as many addresses as a state reserves cannot look into it, and is told what he
// can do about it. Sanitizers need addresses of their own.

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

using namespace chainbase::test;
using Catch::Matchers::Contains;

TEST_CASE("the inspector under a limit of addresses says how to raise it") {
    const scratch_folder scratch;
    const std::filesystem::path state = scratch / "state";
    build_sample_state(state);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    rlimit small = before;
    small.rlim_cur = std::size_t{2} << 30;
    REQUIRE(setrlimit(RLIMIT_AS, &small) == 0);
    const outcome checked = inspect_with("check " + state.string() + " 2>&1");
    const outcome measured = inspect_with("stat " + state.string() + " 2>&1");
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    for (const outcome& one : {checked, measured}) {
        CHECK(one.code == 1);
        CHECK_THAT(one.output, Contains("raise it for this program") && !Contains("fewer windows"));
    }
}
