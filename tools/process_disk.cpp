#include <pool_allocator/base/decimal.hpp>
#include <tools/process_disk.hpp>

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

fs::path folder_of(pid_t process, const fs::path& root) {
    return root / "proc" / std::to_string(process);
}

/// "read_bytes: 4096"
std::optional<std::uint64_t> figure_in(const std::string& text, const std::string& name) {
    std::istringstream from(text);
    for (std::string word, figure; from >> word >> figure;)
        if (word == name) return decimal_in(figure);
    return std::nullopt;
}

std::string text_of(const fs::path& file) {
    std::ifstream from(file);
    std::ostringstream text;
    text << from.rdbuf();
    return text.str();
}

} // namespace

std::optional<process_disk> process_disk::of(pid_t process, const fs::path& root) {
    const fs::path folder = folder_of(process, root);
    const std::string all = text_of(folder / "stat");
    // The name, which may hold anything, ends at the last bracket; the third field follows.
    const std::size_t name_end = all.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    process_disk found;
    found.process = process;
    std::istringstream fields(all.substr(name_end + 1));
    std::string field;
    for (int number = 3; fields >> field; ++number) {
        if (number == 12) found.major_faults = decimal_in(field);
        if (number == 22) found.started = decimal_in(field).value_or(0);
    }
    const std::string io = text_of(folder / "io");
    found.read_bytes = figure_in(io, "read_bytes:");
    found.written_bytes = figure_in(io, "write_bytes:");
    return found;
}

bool has_open(pid_t process, const fs::path& file, const fs::path& root) {
    struct stat wanted{};
    if (::stat(file.c_str(), &wanted) != 0) return false;
    std::error_code unreadable;
    for (fs::directory_iterator at(folder_of(process, root) / "fd", unreadable), end;
         !unreadable && at != end; at.increment(unreadable)) {
        struct stat one{};
        if (::stat(at->path().c_str(), &one) == 0 && one.st_dev == wanted.st_dev &&
            one.st_ino == wanted.st_ino)
            return true;
    }
    return false;
}

} // namespace chainbase
