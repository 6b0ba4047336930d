#include <pool_allocator/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/machine.hpp>
#include <tools/interruption.hpp>

#include <spdlog/spdlog.h>

#include <string>

namespace chainbase::bench {

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
