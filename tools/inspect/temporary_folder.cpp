#include <pool_allocator/error.hpp>
#include <tools/inspect/temporary_folder.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& where, const char* what) {
    throw io_error(fmt::format("{}: {}: {}; set TMPDIR to a folder that can be written to",
                               where.string(), what, std::generic_category().message(errno)));
}

/// Runs in the other process. A signal to the terminal's group does not reach it.
[[noreturn]] void remove_at_the_end(const fs::path& folder, int leash) {
    constexpr int kept = 3;
    ::setsid();
    if (leash != kept) ::dup2(leash, kept);
    for (const int standard : {0, 1, 2})
        ::close(standard);
    ::close_range(kept + 1, ~0U, 0);
    char byte;
    while (::read(kept, &byte, 1) < 0 && errno == EINTR) {
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    ::_exit(0);
}

/// Of memory that can be had without swapping; all there is when the kernel does not say.
std::uint64_t memory_available() {
    std::ifstream from("/proc/meminfo");
    for (std::string name; from >> name; from.ignore(1000, '\n'))
        if (std::uint64_t kibibytes = 0; name == "MemAvailable:" && from >> kibibytes)
            return kibibytes << 10;
    return UINT64_MAX;
}

/// 0 of what is no folder.
std::uint64_t room_in(const fs::path& folder, bool is_memory) {
    std::error_code problem;
    const fs::space_info space = fs::space(folder, problem);
    if (problem) return 0;
    return is_memory ? std::min<std::uint64_t>(space.available, memory_available())
                     : space.available;
}

} // namespace

temporary_folder::temporary_folder(const fs::path& parent) {
    std::string name = (parent / "chainbase-inspect-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail(parent, "cannot make a folder");
    path_ = name;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
        remover_ = ::fork();
        if (remover_ == 0) remove_at_the_end(path_, ends[0]);
        ::close(ends[0]);
        leash_ = ends[1];
    }
    if (remover_ > 0) return;
    const int problem = errno;
    if (leash_ >= 0) ::close(leash_);
    fs::remove(path_);
    errno = problem;
    fail(path_, "no process that would remove it can be started");
}

temporary_folder::~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    ::close(leash_);
    while (::waitpid(remover_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

fs::path temporary_folder::place_for(std::uint64_t bytes) {
    constexpr std::uint64_t beside = std::uint64_t{1} << 20; ///< header, catalogue, folders
    const char* const chosen = std::getenv("TMPDIR");
    const bool is_chosen = chosen && *chosen != '\0';
    const std::vector<fs::path> places =
        is_chosen ? std::vector<fs::path>{chosen} : std::vector<fs::path>{"/dev/shm", "/tmp"};
    std::string found;
    for (const fs::path& place : places) {
        const std::uint64_t room = room_in(place, place == "/dev/shm");
        if (room >= bytes + beside) return place;
        found += fmt::format("{}{} has {}", found.empty() ? "" : ", ", place.string(), room);
    }
    throw out_of_space_error(fmt::format("a checkpoint takes {} bytes for as long as it is looked "
                                         "at, and {}; set TMPDIR to a folder with room",
                                         bytes + beside, found));
}

} // namespace chainbase::inspect
