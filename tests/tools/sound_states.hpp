#pragma once

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

/// What has to be so of a state after whatever was done with it by the driver's verbs.
namespace chainbase::test {

inline std::string numbered(std::string name, int number) {
    name += std::to_string(number);
    return name;
}

inline void check_sound(const std::filesystem::path& state) {
    const std::string call =
        std::string(CHAINBASE_INSPECT_PROGRAM) + " check " + state.string() + " >/dev/null 2>&1";
    CHECK(std::system(call.c_str()) == 0);
}

/// The restored state goes on to where an undisturbed one ends.
inline void check_goes_on(const real_log& log, const std::string& name) {
    check_sound(log.state(name));
    const driver_run rest = run_driver(log.replay({"--verify"}, name));
    INFO(rest.err);
    REQUIRE(rest.code() == 0);
    CHECK(rest.json()["state_digest"] == digest_at_end(log.chain()));
    check_sound(log.state(name));
}

} // namespace chainbase::test
