#include <chainbase/folder.hpp>
#include <pool_allocator/file_error.hpp>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <string_view>

namespace chainbase {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
    if (!open) throw_file_error(folder, "list");
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent* const one = ::readdir(open.get());
        if (one == nullptr && errno != 0) throw_file_error(folder, "list");
        if (one == nullptr) return names;
        const std::string_view name(one->d_name);
        if (name != "." && name != "..") names.emplace_back(name);
    }
}

void remove_tree(const fs::path& name) {
    struct stat found{};
    if (::lstat(name.c_str(), &found) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return;
        throw_file_error(name, "examine");
    }
    const bool is_folder = S_ISDIR(found.st_mode);
    if (is_folder)
        for (const std::string& one : names_in(name))
            remove_tree(name / one);
    if ((is_folder ? ::rmdir(name.c_str()) : ::unlink(name.c_str())) != 0 && errno != ENOENT)
        throw_file_error(name, "remove");
}

void try_to_remove_tree(const fs::path& name) noexcept {
    try {
        remove_tree(name);
    } catch (const std::exception&) { // it stays
    }
}

} // namespace chainbase
