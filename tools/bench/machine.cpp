#include <tools/bench/machine.hpp>

#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace chainbase::bench {

namespace {

std::string first_line(const char* path) {
    std::string line;
    std::getline(std::ifstream(path) >> std::ws, line);
    return line;
}

/// The system's rule, unless this process does without.
std::string huge_pages() {
    if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) return "disabled for this run";
    return first_line("/sys/kernel/mm/transparent_hugepage/enabled");
}

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "";
}

std::string kernel_name() {
    utsname names{};
    if (uname(&names) != 0) return "";
    return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

std::string compiler_name() {
#if defined(__clang__)
    return std::string("clang ") + __clang_version__;
#else
    return std::string("g++ ") + __VERSION__;
#endif
}

/// The entry of the table of mounts with the longest path that `directory` lies under.
std::string file_system_of(const std::filesystem::path& directory) {
    const std::string wanted = std::filesystem::weakly_canonical(directory).string() + "/";
    std::ifstream file("/proc/self/mounts");
    std::string result;
    std::size_t longest = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string device, path, type, options;
        fields >> device >> path >> type >> options;
        const std::string prefix = path == "/" ? path : path + "/";
        if (!wanted.starts_with(prefix) || prefix.size() < longest) continue;
        longest = prefix.size();
        result = type + " " + options;
    }
    return result;
}

double load_now() {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : 0;
}

} // namespace

bool is_busy() {
    return load_now() * 2 > static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
}

nlohmann::json describe_machine(const std::filesystem::path& directory) {
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return {{"cpu", cpu_name()},
            {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
            {"memory", pages * page_bytes},
            {"kernel", kernel_name()},
            {"compiler", compiler_name()},
            {"optimised", is_optimised()},
            {"huge_pages", huge_pages()},
            {"huge_pages_shmem", first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled")},
            {"file_system", file_system_of(directory)},
            {"load", load_now()}};
}

} // namespace chainbase::bench
