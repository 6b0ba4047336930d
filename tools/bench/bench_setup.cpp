#include <pool_allocator/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/report.hpp>
#include <tools/interruption.hpp>

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

namespace chainbase::bench {

scratch_directory::scratch_directory(const std::filesystem::path& parent) {
    std::string name = (parent / "chainbase-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw io_error("bench: cannot make a folder in " + parent.string() + ": " +
                       std::strerror(errno) + "; name another with --directory");
    path_ = name;
}

scratch_directory::~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path default_directory() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

void require_space(const std::filesystem::path& directory, std::uintmax_t needed,
                   std::string_view smaller) {
    const std::uintmax_t there = std::filesystem::space(directory).available;
    if (there < needed)
        throw out_of_space_error("bench: " + directory.string() + " has " + std::to_string(there) +
                                 " bytes free and " + std::to_string(needed) +
                                 " are needed; take " + std::string(smaller) +
                                 " or another --directory");
}

void throw_if_interrupted() {
    if (catch_interruption::noted()) throw error("bench: interrupted; nothing was reported");
}

void warn_about_conditions() {
    if (!is_optimised()) spdlog::warn("built without optimisation: the figures mean nothing");
    if (is_busy()) spdlog::warn("the machine is busy with other work: expect scattered figures");
}

} // namespace chainbase::bench
