#include <archive/rocksdb/store_folder.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/ofd_lock.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <unistd.h>

#include <sstream>
#include <string>
#include <utility>

namespace chainbase::archive::detail {

namespace {

namespace fs = std::filesystem;

constexpr const char* format_text = "chainbase archive\nformat 2\n";

// A creation that was interrupted leaves at most a new format file behind.
bool is_new(const fs::path& folder) {
    if (!fs::exists(folder)) return true;
    if (!fs::is_directory(folder)) return false;
    for (const auto& entry : fs::directory_iterator(folder))
        if (!entry.path().filename().string().starts_with("format.")) return false;
    return true;
}

// Of two that make the store at the same time one wins, and the other then finds its lock taken.
void make_format(const fs::path& folder) {
    const fs::path own = folder / ("format." + std::to_string(::getpid()));
    replace_file(own, format_text);
    if (!rename_new(own, folder / "format")) fs::remove(own);
    sync_folder(folder);
}

void check_format(const fs::path& folder) {
    const fs::path file = folder / "format";
    if (!fs::is_regular_file(file))
        throw format_error("archive: \"" + folder.string() +
                           "\" is not the folder of an archive store (it has no file "
                           "\"format\"). Nothing in it was changed; name another folder or an "
                           "empty one");
    const std::string text = read_file(file);
    if (text != format_text)
        throw format_error("archive: \"" + file.string() + "\" says \"" + text.substr(0, 80) +
                           "\" where this program knows \"chainbase archive, format 2\"; use the "
                           "program that made it, or rebuild the archive by a replay");
}

file_descriptor take_lock(const fs::path& folder) {
    file_descriptor file = open_private(folder / "format", file_use::write);
    if (ofd_lock::take(file.number(), ofd_lock::kind::exclusive)) return file;
    if (!ofd_lock::is_taken()) throw_file_error(folder / "format", "lock");
    throw locked_error("archive: \"" + folder.string() +
                       "\" is being written by another process or store; stop that one, or open "
                       "it read-only");
}

} // namespace

store_folder::store_folder(fs::path folder, file_descriptor lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

store_folder store_folder::open_for_writing(const fs::path& folder) {
    try {
        if (is_new(folder)) {
            const fs::path outer = (fs::absolute(folder) / "").parent_path().parent_path();
            make_folders(outer);
            private_folder::make_within(folder);
            sync_folder(outer);
            make_format(folder);
        }
        check_format(folder);
        return store_folder(folder, take_lock(folder));
    } catch (const fs::filesystem_error& error) {
        throw io_error(std::string("archive: ") + error.what() +
                       "; check the path, the disk and the permissions");
    }
}

store_folder store_folder::open_for_reading(const fs::path& folder) {
    check_format(folder);
    return store_folder(folder, file_descriptor(-1));
}

void store_folder::unlock() const noexcept {
    if (lock_.number() >= 0) ofd_lock::release(lock_.number());
}

bool store_folder::is_being_written() const {
    if (lock_.number() >= 0) return false; // the lock is ours
    const file_descriptor file = open_private(folder_ / "format", file_use::read);
    const auto found = ofd_lock::conflicting_lock(file.number(), ofd_lock::kind::exclusive);
    if (!found) throw_file_error(folder_ / "format", "lock");
    return *found != ofd_lock::kind::none;
}

std::optional<synced_mark> store_folder::mark() const {
    const fs::path file = folder_ / "synced";
    if (!fs::exists(file)) return std::nullopt;
    std::istringstream text(read_file(file));
    synced_mark mark;
    std::string state;
    if (!(text >> mark.sequence >> state) || (state != "closed" && state != "open"))
        throw damaged_error("archive: \"" + file.string() +
                            "\" is malformed; restore the archive from a backup or rebuild it by a "
                            "replay");
    mark.closed = state == "closed";
    return mark;
}

void store_folder::write_mark(const synced_mark& mark) const {
    replace_file(folder_ / "synced",
                 std::to_string(mark.sequence) + (mark.closed ? " closed\n" : " open\n"));
}

} // namespace chainbase::archive::detail
