#include <tools/bench/account_bench.hpp>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <exception>

namespace {

/// The exit codes that every tool of chainbase keeps to.
enum exit_code : int { done = 0, failed = 1, wrong_call = 2 };

int run(int argc, char** argv) {
    CLI::App program("Measures chainbase beside other engines, in one run", "chainbase-bench");
    program.require_subcommand(1);
    chainbase::bench::add_account_bench(program);
    try {
        program.parse(argc, argv);
        return done;
    } catch (const CLI::ParseError& problem) {
        return program.exit(problem) == 0 ? done : wrong_call;
    }
}

} // namespace

int main(int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("chainbase-bench"));
    try {
        return run(argc, argv);
    } catch (const std::exception& problem) {
        spdlog::error(problem.what());
        return failed;
    }
}
