// Writes the manual page and the completions of chainbase-inspect, while that is built:
// chainbase-inspect-manual FOLDER VERSION DATE

#include <pool_allocator/error.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/manual.hpp>
#include <tools/program.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

namespace chainbase::inspect {

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream to(file, std::ios::binary);
    to << text;
    if (!to.flush()) throw io_error("cannot write " + file.string() + "; check the folder");
}

manual_notes notes(const std::string& version, const std::string& date) {
    return {"chainbase " + version,
            date,
            {{0, "Done."},
             {1, "The work failed; stderr says why and what to do."},
             {2, "The call is wrong."},
             {3, "Interrupted by a signal; the same call goes on."},
             {4, "What was to be checked is not sound; the report says what."},
             {5, "What was to be compared is not the same; the report says where."}},
            {{"chainbase-inspect info state", "What is wrong with a state, and what to do."},
             {"chainbase-inspect stat state --json", "Where its bytes are, for a program."},
             {"chainbase-inspect schema state --c-header > types.h", "Its types, for C."},
             {"chainbase-inspect check -v state", "Whether it is sound."}}};
}

void write_all(const std::filesystem::path& folder, const manual_notes& told) {
    exit_code unused = exit_code::done;
    CLI::App program(program_description, program_name);
    add_version(program);
    add_all_verbs(program, unused);
    const std::string name = program_name;
    write(folder / (name + ".1"), man_page_of(program, told));
    write(folder / (name + ".bash"), bash_completion_of(program));
    write(folder / ("_" + name), zsh_completion_of(program));
    write(folder / (name + ".fish"), fish_completion_of(program));
}

} // namespace

} // namespace chainbase::inspect

int main(int argc, char** argv) {
    using namespace chainbase;
    if (argc != 4) {
        std::fputs("chainbase-inspect-manual FOLDER VERSION DATE\n", stderr);
        return static_cast<int>(exit_code::wrong_call);
    }
    try {
        inspect::write_all(argv[1], inspect::notes(argv[2], argv[3]));
        return static_cast<int>(exit_code::done);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return static_cast<int>(exit_code::failed);
    }
}
