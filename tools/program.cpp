#include <pool_allocator/error.hpp>
#include <tools/interruption.hpp>
#include <tools/program.hpp>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <exception>

namespace chainbase {

namespace {

exit_code run(const char* name, const char* description, int argc, char** argv,
              const add_verbs& add) {
    exit_code result = exit_code::done;
    CLI::App program(description, name);
    program.require_subcommand(1);
    add_version(program);
    add(program, result);
    try {
        program.parse(argc, argv);
        return result;
    } catch (const CLI::ParseError& problem) {
        return program.exit(problem) == 0 ? exit_code::done : exit_code::wrong_call;
    } catch (const usage_error& problem) {
        spdlog::error(problem.what());
        return exit_code::wrong_call;
    } catch (const interrupted_error& how) {
        spdlog::warn(how.what());
        return exit_code::interrupted;
    } catch (const std::exception& problem) {
        spdlog::error(problem.what());
        return exit_code::failed;
    }
}

} // namespace

void add_version(CLI::App& program) {
    program.set_version_flag("-V,--version", program.get_name() + " " CHAINBASE_VERSION,
                             "Print the version and exit");
}

int run_program(const char* name, const char* description, int argc, char** argv,
                const add_verbs& add) {
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not be longer is an error like a full disk
    spdlog::set_default_logger(spdlog::stderr_color_mt(name));
    return static_cast<int>(run(name, description, argc, argv, add));
}

} // namespace chainbase
