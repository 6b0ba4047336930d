#include <archive/backup/file_copy.hpp>
#include <archive/detail/fault_steps.hpp>
#include <archive/rocksdb/store_folder.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace chainbase::archive::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_bytes = std::size_t{1} << 20;
constexpr std::size_t block_bytes = 4096;

struct free_state {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

/// Reads a file part by part, calls visit(offset, part), and returns the sum of all.
template <typename Visitor>
std::uint64_t read_through(const disk_file& file, const fs::path& name, std::uint64_t bytes,
                           copy_progress& told, Visitor&& visit) {
    const std::unique_ptr<XXH3_state_t, free_state> sum(XXH3_createState());
    XXH3_64bits_reset(sum.get());
    std::vector<std::byte> buffer(std::min<std::uint64_t>(part_bytes, bytes));
    for (std::uint64_t at = 0; at < bytes;) {
        const std::span part =
            std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at));
        if (const std::size_t found = file.read(at, part); found < part.size())
            throw damaged_error(name.string() + ": truncated to " + std::to_string(at + found) +
                                " of " + std::to_string(bytes) + " bytes");
        XXH3_64bits_update(sum.get(), part.data(), part.size());
        visit(at, part);
        at += part.size();
        told.advance(part.size());
    }
    return XXH3_64bits_digest(sum.get());
}

bool is_zero(std::span<const std::byte> block) {
    return block.front() == std::byte{0} &&
           std::memcmp(block.data(), block.data() + 1, block.size() - 1) == 0;
}

/// But for blocks of zeros, which are there without being written.
void write_blocks(disk_file& to, std::uint64_t at, std::span<const std::byte> part) {
    for (std::size_t begin = 0; begin < part.size();) {
        std::size_t end = begin;
        const auto block = [&](std::size_t from) {
            return part.subspan(from, std::min(block_bytes, part.size() - from));
        };
        while (end < part.size() && !is_zero(block(end)))
            end += block(end).size();
        if (end > begin) to.write(at + begin, part.subspan(begin, end - begin));
        begin = end < part.size() ? end + block(end).size() : end;
    }
}

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

std::uint64_t sum_of(const disk_file& file, const fs::path& name, std::uint64_t bytes,
                     copy_progress& told) {
    return read_through(file, name, bytes, told, [](std::uint64_t, auto) {});
}

std::uint64_t copy_file(const disk_file& from, const fs::path& name, std::uint64_t bytes,
                        const fs::path& to, copy_progress& told) {
    const auto copy = disk::of_system().open(to, disk::mode::create);
    const std::uint64_t sum = read_through(
        from, name, bytes, told,
        [&](std::uint64_t at, std::span<const std::byte> part) { write_blocks(*copy, at, part); });
    copy->resize(bytes);
    copy->sync();
    return sum;
}

void sync_tree(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory())
            sync_folder(entry.path());
        else
            disk::of_system().open(entry.path(), disk::mode::read)->sync();
    }
    sync_folder(folder);
}

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
