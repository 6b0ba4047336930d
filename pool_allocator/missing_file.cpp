#include <pool_allocator/error.hpp>
#include <pool_allocator/missing_file.hpp>

namespace chainbase {

void require_there(const std::filesystem::path& file) {
    std::error_code unknown; // then opening it says why
    if (std::filesystem::symlink_status(file, unknown).type() !=
        std::filesystem::file_type::not_found)
        return;
    throw damaged_error(file.string() +
                        ": missing; restore it from a copy, or, if the state has a checkpoint, "
                        "move the segment's folder away and open the state for writing, which goes "
                        "back to that, or replay into a new folder");
}

} // namespace chainbase
