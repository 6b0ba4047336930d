#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>

#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

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
    if (catch_interruption::caught()) throw error("bench: interrupted; nothing was reported");
}

command_option& declare_common(command& verb, bench_options& options, std::string rounds,
                               std::string directory) {
    verb.add_option("--rounds", options.rounds, std::move(rounds))
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--directory", options.directory, std::move(directory))
        .shows_default()
        .existing_folder();
    return verb.add_flag("--json", options.json, "One JSON object on stdout instead of a table");
}

namespace {

std::string first_line(const char* path) {
    std::string line;
    std::getline(std::ifstream(path) >> std::ws, line);
    return line;
}

/// The system's setting, unless this process disables it.
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

/// The mount table's entry with the longest path that contains `directory`.
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

/// Whether assertions are compiled out.
constexpr bool is_optimised() noexcept {
#if defined(NDEBUG) && defined(__OPTIMIZE__)
    return true;
#else
    return false;
#endif
}

machine_description describe_machine(const std::filesystem::path& directory) {
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return {cpu_name(),
            sysconf(_SC_NPROCESSORS_ONLN),
            pages * page_bytes,
            kernel_name(),
            compiler_name(),
            is_optimised(),
            huge_pages(),
            first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
            file_system_of(directory),
            load_now()};
}

} // namespace

bench_run::bench_run(std::string bench, const bench_options& options)
    : bench_(std::move(bench)), options_(options), machine_(describe_machine(options.directory)) {
    if (!machine_.optimised) spdlog::warn("built without optimisation: the figures mean nothing");
    // All times are wall time, so they include delays by other work that kept more than half of the
    // cores busy.
    if (machine_.load * 2 > static_cast<double>(machine_.cores))
        spdlog::warn("the machine is busy with other work: expect scattered figures");
}

void bench_run::announce(std::string_view what, std::uint32_t round,
                         std::string_view engine) const {
    spdlog::info("{} {} of {}{}{}", what, round, options_.rounds, engine.empty() ? "" : ": ",
                 engine);
}

std::string bench_run::title(const std::string& what, std::string_view units) const {
    std::ostringstream text;
    text << bench_ << ": " << what << (what.empty() ? "" : ", ") << "medians of " << options_.rounds
         << " rounds; " << machine_.cpu << ", " << machine_.compiler << ", " << machine_.file_system
         << "\n"
         << units << "\n";
    return text.str();
}

void bench_run::print(const std::string& text, const json& own) const {
    if (!options_.json) return print_or_throw(text);
    json all{{"bench", bench_}, {"machine", json_of(machine_)}, {"rounds", options_.rounds}};
    all.update(own);
    print_or_throw(line_of(all) + "\n");
}

void bench_run::print(const std::vector<row>& rows, json own, const std::string& what,
                      std::string_view units, std::string_view below) const {
    std::ostringstream text;
    text << title(what, units) << "\n";
    print_rows(text, rows);
    text << below;
    own["rows"] = json_of(rows);
    print(text.str(), own);
}

} // namespace chainbase::bench
