#include <pool_allocator/error.hpp>
#include <tools/bench/scratch_directory.hpp>

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

} // namespace chainbase::bench
