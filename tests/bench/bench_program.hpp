#pragma once

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace chainbase::bench {

struct outcome {
    int exit_code;
    std::string output;
};

/// Runs chainbase-bench; what it says on stderr goes nowhere.
inline outcome run_bench(const std::string& arguments) {
    const std::string command =
        std::string(CHAINBASE_BENCH_PROGRAM " ") + arguments + " 2>/dev/null";
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string output;
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
        output.append(buffer, got);
    const int status = pclose(pipe);
    REQUIRE(WIFEXITED(status));
    return {WEXITSTATUS(status), output};
}

} // namespace chainbase::bench
