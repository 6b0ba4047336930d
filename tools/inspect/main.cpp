#include <tools/inspect/verbs.hpp>
#include <tools/program.hpp>

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program(inspect::program_name, inspect::program_description, argc, argv,
                       inspect::add_all_verbs);
}
