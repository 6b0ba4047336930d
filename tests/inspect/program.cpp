#include <sys/wait.h>
#include <tests/inspect/program.hpp>

#include <array>
#include <cstdio>
#include <stdexcept>

namespace chainbase::test {

outcome inspect_with(const std::string& arguments) {
    const std::string command = CHAINBASE_INSPECT_PROGRAM " " + arguments;
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
    outcome result;
    std::array<char, 4096> piece;
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
        result.output.append(piece.data(), got);
    const int status = ::pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

} // namespace chainbase::test
