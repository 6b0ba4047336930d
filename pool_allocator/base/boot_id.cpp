#include <pool_allocator/base/boot_id.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>

#include <fstream>

namespace chainbase {

std::string boot_id() {
    const char* const file = "/proc/sys/kernel/random/boot_id";
    constexpr std::size_t length = 36;
    std::string id;
    if (!std::getline(std::ifstream(file), id)) throw_file_error(file, "read");
    if (id.size() != length)
        throw io_error(std::string(file) + ": \"" + id + "\" is not a boot id of the kernel");
    return id;
}

} // namespace chainbase
