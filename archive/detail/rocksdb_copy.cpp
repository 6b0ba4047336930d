#include <archive/detail/backup_step.hpp>
#include <archive/detail/file_copy.hpp>
#include <archive/detail/rocksdb_copy.hpp>
#include <archive/detail/store_folder.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace chainbase::archive::detail {

namespace {

namespace fs = std::filesystem;

constexpr int most_attempts = 100;

struct open_file {
    std::string name;
    std::unique_ptr<disk_file> file;
    std::uint64_t bytes;
};

/// What RocksDB needs to open: not its lock, its messages and what it has not named yet.
std::set<std::string> files_to_copy(const fs::path& folder) {
    std::set<std::string> files;
    for (const std::string& name : disk::of_system().names_in(folder))
        if (name.ends_with(".log") || name.ends_with(".sst") || name.starts_with("MANIFEST") ||
            name.starts_with("OPTIONS") || name == "CURRENT" || name == "IDENTITY")
            if (!name.ends_with(".dbtmp")) files.insert(name);
    return files;
}

std::vector<open_file> open_all(const fs::path& folder, const std::set<std::string>& names) {
    std::vector<open_file> files;
    for (const std::string& name : names) {
        auto file = disk::of_system().open(folder / name, disk::mode::read);
        const std::uint64_t bytes = file->bytes();
        files.push_back({name, std::move(file), bytes});
    }
    return files;
}

bool is_manifest_unchanged(const std::vector<open_file>& files) {
    for (const open_file& one : files)
        if (one.name.starts_with("MANIFEST") && one.file->bytes() != one.bytes) return false;
    return true;
}

/// Nothing when files came or went meanwhile. An opening that fails then is no failure of a disk.
std::optional<std::vector<open_file>> files_of_one_moment(const fs::path& folder) {
    const std::set<std::string> before = files_to_copy(folder);
    try {
        std::vector<open_file> files = open_all(folder, before);
        if (files_to_copy(folder) != before || !is_manifest_unchanged(files)) return std::nullopt;
        return files;
    } catch (const io_error&) {
        if (files_to_copy(folder) != before) return std::nullopt;
        throw;
    }
}

std::vector<open_file> files_of(const fs::path& folder) {
    for (int attempt = 1; attempt <= most_attempts; ++attempt) {
        if (auto files = files_of_one_moment(folder)) return std::move(*files);
        std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    }
    throw io_error(folder.string() + ": its writer replaced files during each of " +
                   std::to_string(most_attempts) + " attempts to open them; try again");
}

} // namespace

void copy_rocksdb(const fs::path& archive, const fs::path& into, const checkpoint::progress& tell) {
    const store_folder from = store_folder::open_for_reading(archive);
    const auto mark = from.mark(); // before the log: what it says is in there
    if (!mark)
        throw format_error(archive.string() +
                           ": was never completely made; open the state for writing once");
    const std::vector<open_file> files = files_of(from.rocksdb());
    std::uint64_t all = 0;
    for (const open_file& one : files)
        all += one.bytes;
    copy_progress told(all, tell);
    private_folder::make_within(into);
    private_folder::make_within(into / "rocksdb");
    replace_file(into / "format", read_file(archive / "format"));
    replace_file(into / "synced", std::to_string(mark->sequence) + " open\n");
    for (const open_file& one : files) {
        copy_file(*one.file, from.rocksdb() / one.name, one.bytes, into / "rocksdb" / one.name,
                  told);
        fault::reach(fault::backup_step::file_copied);
    }
}

} // namespace chainbase::archive::detail
