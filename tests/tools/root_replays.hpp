#pragma once

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace chainbase::test {

using arguments = std::vector<std::string>;

inline const arguments with_root{"--state-root", "all"};
/// Of a block at which the root was made anew.
inline const std::string unknown_writes(64, '0');

[[nodiscard]] inline arguments operator+(arguments some, const arguments& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
}

inline nlohmann::json replayed(const real_log& log, const arguments& more,
                               const std::string& name) {
    const driver_run run = run_driver(log.replay(more, name));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    return run.json();
}

/// What `roots` prints, by block.
[[nodiscard]] inline std::map<std::uint64_t, std::string>
roots_of(const std::filesystem::path& state) {
    const driver_run run = run_driver({"roots", state.string()});
    INFO(run.err);
    REQUIRE(run.code() == 0);
    std::map<std::uint64_t, std::string> all;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);)
        if (line.front() != '#') all[std::stoull(line)] = line;
    return all;
}

inline void write_roots(const std::filesystem::path& file, const std::filesystem::path& state) {
    write_file(file, run_driver({"roots", state.string()}).out);
}

} // namespace chainbase::test
