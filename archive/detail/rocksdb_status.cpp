#include <archive/detail/rocksdb_status.hpp>
#include <pool_allocator/error.hpp>

namespace chainbase::archive::detail {

void throw_status(const rocksdb::Status& status, const std::string& where) {
    const std::string message = where + ": " + status.ToString();
    if (status.IsNoSpace())
        throw out_of_space_error(message + "; make room on the disk and open the store again");
    if (status.IsCorruption())
        throw damaged_error(message +
                            "; restore the archive from a backup or rebuild it by a replay");
    throw io_error(message + "; check the disk, the permissions and the kernel's log, then open "
                             "the store again");
}

} // namespace chainbase::archive::detail
