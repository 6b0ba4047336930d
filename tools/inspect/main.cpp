#include <tools/inspect/verbs.hpp>
#include <tools/program.hpp>

#include <string_view>

int main(int argc, char** argv) {
    using namespace chainbase;
    const std::string_view verb = argc > 1 ? argv[1] : "";
    return run_program(
        inspect::program_name, inspect::program_description, argc, argv,
        [verb](CLI::App& program, exit_code& result) { inspect::add_verb(program, result, verb); });
}
