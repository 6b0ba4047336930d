#include <tools/driver/verbs.hpp>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <exception>

namespace {

using namespace chainbase::driver;

int run(int argc, char** argv) {
    exit_code result = done;
    CLI::App program("Runs a chain over chainbase", "chainbase-driver");
    program.require_subcommand(1);
    add_import_verb(program, result);
    add_replay_verb(program, result);
    try {
        program.parse(argc, argv);
        return result;
    } catch (const CLI::ParseError& problem) {
        return program.exit(problem) == 0 ? done : wrong_call;
    }
}

} // namespace

int main(int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("chainbase-driver"));
    try {
        return run(argc, argv);
    } catch (const std::exception& problem) {
        spdlog::error(problem.what());
        return failed;
    }
}
