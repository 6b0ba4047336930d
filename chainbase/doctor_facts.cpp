#include <chainbase/doctor.hpp>
#include <pool_allocator/decimal.hpp>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/split.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace chainbase::doctor {

namespace fs = std::filesystem;

#ifndef MADV_COLLAPSE // Linux 6.1; the C library's header is older
#define MADV_COLLAPSE 25
#endif

namespace {

using number = std::optional<std::uint64_t>;
using lines = std::vector<std::string>;

/// None of a file that cannot be read.
lines lines_of(const fs::path& file) {
    std::ifstream from(file);
    lines all;
    for (std::string line; std::getline(from, line);)
        all.push_back(std::move(line));
    return all;
}

std::string first_line(const fs::path& file) {
    const lines all = lines_of(file);
    return all.empty() ? std::string() : all.front();
}

lines words_of(const std::string& line, const char* between = " \t") {
    lines all;
    boost::split(all, line, boost::is_any_of(between), boost::token_compress_on);
    return all;
}

/// The number after `name`, as in /proc/meminfo ("MemFree:  12 kB") and memory.stat ("file 12").
number number_after(const lines& all, std::string_view name) {
    for (const std::string& line : all)
        if (const lines words = words_of(line); words.size() >= 2 && words[0] == name)
            return decimal_in(words[1]);
    return {};
}

/// "always [madvise] never"
std::string word_in_brackets(const std::string& line) {
    const std::size_t begin = line.find('[');
    const std::size_t end = line.find(']');
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    return line.substr(begin + 1, end - begin - 1);
}

/// Spaces in names are written \040.
std::string unescaped(const std::string& name) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
        if (name[i] != '\\' || i + 3 >= name.size() ||
            !std::all_of(name.begin() + i + 1, name.begin() + i + 4, is_octal)) {
            text += name[i];
            continue;
        }
        text += static_cast<char>(std::stoi(name.substr(i + 1, 3), nullptr, 8));
        i += 3;
    }
    return text;
}

struct mounted {
    mount at;
    fs::path root; ///< the part of the file system that is mounted
};

/// 25 24 0:23 / /dev/shm rw,relatime shared:4 - tmpfs tmpfs rw,size=24684084k
std::optional<mounted> mounted_in(const std::string& line) {
    const lines words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) return {};
    mounted found{{unescaped(words[4]), dash[1]}, unescaped(words[3])};
    for (const std::string& option : words_of(dash[3], ","))
        if (boost::starts_with(option, "huge=")) found.at.huge = option.substr(5);
    return found;
}

std::vector<mounted> mounts(const fs::path& root) {
    std::vector<mounted> all;
    for (const std::string& line : lines_of(root / "proc/self/mountinfo"))
        if (auto one = mounted_in(line)) all.push_back(std::move(*one));
    return all;
}

bool is_within(const fs::path& folder, const fs::path& path) {
    const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

/// The innermost; of several at one place the last, which hides the others.
mount mount_of(const std::vector<mounted>& all, const fs::path& path) {
    mount found;
    for (const mounted& one : all)
        if (is_within(one.at.point, path) &&
            one.at.point.native().size() >= found.point.native().size())
            found = one.at;
    return found;
}

std::uint64_t bytes_of_file(const fs::path& file) {
    struct stat status{};
    constexpr std::uint64_t block = 512; // the unit of st_blocks, whatever the file system
    if (::stat(file.c_str(), &status) != 0 || status.st_blocks < 0) return 0;
    return static_cast<std::uint64_t>(status.st_blocks) * block;
}

void read_files(facts& found) {
    std::error_code none;
    if (!found.of.is_made)
        for (const fs::directory_entry& file : fs::directory_iterator(found.of.segment, none)) {
            ++found.segment_files;
            found.segment_bytes += bytes_of_file(file.path());
        }
    found.checkpoint_bytes = bytes_of_file(found.of.state / "checkpoint/pages");
}

/// None of memory without a limit of its own.
std::optional<struct statvfs> room_at(const fs::path& folder) {
    struct statvfs room{};
    if (::statvfs(folder.c_str(), &room) != 0 || room.f_blocks == 0) return {};
    return room;
}

void read_room(facts& found) {
    if (const auto room = room_at(found.of.segment)) {
        found.free_bytes = std::uint64_t{room->f_bavail} * room->f_frsize;
        found.mount_bytes = std::uint64_t{room->f_blocks} * room->f_frsize;
    }
    if (const auto room = room_at(found.of.state))
        found.free_for_checkpoints = std::uint64_t{room->f_bavail} * room->f_frsize;
}

void read_memory(facts& found, const fs::path& root) {
    constexpr std::uint64_t kibi = 1024;
    const lines all = lines_of(root / "proc/meminfo");
    const number available = number_after(all, "MemAvailable:");
    if (available)
        found.free_memory = (*available + number_after(all, "SwapFree:").value_or(0)) * kibi;
    if (first_line(root / "proc/sys/vm/overcommit_memory") != "2") return;
    const number limit = number_after(all, "CommitLimit:");
    if (limit) found.commit_limit = *limit * kibi;
    found.committed = number_after(all, "Committed_AS:").value_or(0) * kibi;
}

number soft_limit(int resource) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return {};
    if (limit.rlim_cur == RLIM_INFINITY) return {};
    return limit.rlim_cur;
}

void read_limits(facts& found, const fs::path& root) {
    found.address_limit = soft_limit(RLIMIT_AS);
    found.file_limit = soft_limit(RLIMIT_NOFILE);
    const auto pages = words_of(first_line(root / "proc/self/statm"));
    found.addresses =
        decimal_in(pages.front()).value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void read_huge_pages(facts& found, const fs::path& root) {
    const fs::path folder = root / "sys/kernel/mm/transparent_hugepage";
    found.shmem_enabled = word_in_brackets(first_line(folder / "shmem_enabled"));
    found.huge_enabled = word_in_brackets(first_line(folder / "enabled"));
    found.can_collapse = ::madvise(nullptr, 0, MADV_COLLAPSE) == 0; // of nothing: only whether
}

void read_folders_above(facts& found, const fs::path& path) {
    for (fs::path folder = path; folder.has_relative_path();) {
        folder = folder.parent_path();
        struct stat status{};
        if (::stat(folder.c_str(), &status) != 0) continue;
        if ((status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0) continue;
        if (std::find(found.open_folders.begin(), found.open_folders.end(), folder) ==
            found.open_folders.end())
            found.open_folders.push_back(folder);
    }
}

} // namespace

facts facts_of(const subject& of, const fs::path& root) {
    facts found;
    found.of = of;
    found.of.state = fs::canonical(of.state);
    found.of.segment = fs::canonical(of.segment);
    const std::vector<mounted> all = mounts(root);
    found.state_mount = mount_of(all, found.of.state);
    found.segment_mount = mount_of(all, found.of.segment);
    read_files(found);
    read_room(found);
    read_memory(found, root);
    read_limits(found, root);
    found.cgroup =
        resource_limits::least_memory_room(root / "proc/self/cgroup", root / "sys/fs/cgroup");
    read_huge_pages(found, root);
    read_folders_above(found, found.of.state);
    read_folders_above(found, found.of.segment);
    return found;
}

} // namespace chainbase::doctor
