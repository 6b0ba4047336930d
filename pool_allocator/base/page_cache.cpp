#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/page_cache.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

namespace chainbase {

namespace {

// As linux/mman.h has them since 6.5.
struct cachestat_range {
    std::uint64_t begin;
    std::uint64_t bytes;
};
struct cachestat_pages {
    std::uint64_t cached;
    std::uint64_t dirty;
    std::uint64_t writeback;
    std::uint64_t evicted;
    std::uint64_t recently_evicted;
};
static_assert(sizeof(cachestat_pages) == 40);

constexpr cached_bytes unknown{std::nullopt, std::nullopt, std::nullopt, std::nullopt};

std::uint64_t page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

void add(std::optional<std::uint64_t>& to, const std::optional<std::uint64_t>& more) noexcept {
    to = to && more ? std::optional(*to + *more) : std::nullopt;
}

/// To others the kernel calls everything resident (mincore) or answers EPERM (cachestat).
bool may_be_told(const struct stat& found, const std::filesystem::path& file) {
    return found.st_uid == ::geteuid() ||
           ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0;
}

bool is_of_memory(const struct statfs& system) noexcept {
    return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

/// The pages of its files belong to files of another file system, to which only mappings lead.
bool is_overlay(int descriptor) {
    struct statfs system{};
    return ::fstatfs(descriptor, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
}

bool is_anything_swapped() {
    struct sysinfo machine{};
    return ::sysinfo(&machine) != 0 || machine.freeswap != machine.totalswap;
}

/// Nothing where the kernel has no such call, or a filter of system calls forbids it.
std::optional<cached_bytes> by_cachestat(int descriptor, const std::filesystem::path& file,
                                         file_part part) {
    const cachestat_range range{part.begin, part.bytes};
    cachestat_pages pages{};
    if (::syscall(SYS_cachestat, descriptor, &range, &pages, 0U) != 0) {
        if (errno == ENOSYS || errno == EPERM || errno == EOPNOTSUPP) return std::nullopt;
        throw_file_error(file, "ask what is in memory of");
    }
    const auto bytes = [&part](std::uint64_t count) {
        return std::min(count * page_bytes(), part.bytes);
    };
    return cached_bytes{bytes(pages.cached), bytes(pages.dirty), bytes(pages.writeback)};
}

/// A read-only mapping that nothing is read through.
class mapping {
public:
    mapping(int descriptor, const std::filesystem::path& file, file_part part)
        : bytes_(part.bytes), base_(::mmap(nullptr, part.bytes, PROT_READ, MAP_SHARED, descriptor,
                                           static_cast<off_t>(part.begin))) {
        if (base_ == MAP_FAILED) throw_file_error(file, "map");
    }
    ~mapping() { ::munmap(base_, bytes_); }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;

    [[nodiscard]] void* base() const noexcept { return base_; }

private:
    std::size_t bytes_;
    void* base_;
};

cached_bytes by_mincore(int descriptor, const std::filesystem::path& file, file_part part) {
    constexpr std::uint64_t slice_bytes = std::uint64_t{256} << 20;
    std::vector<unsigned char> pages(slice_bytes / page_bytes());
    const std::uint64_t end = part.begin + part.bytes;
    std::uint64_t count = 0;
    for (std::uint64_t at = part.begin / page_bytes() * page_bytes(); at < end; at += slice_bytes) {
        const file_part slice{at, std::min(slice_bytes, end - at)};
        const mapping mapped(descriptor, file, slice);
        if (::mincore(mapped.base(), slice.bytes, pages.data()) != 0)
            throw_file_error(file, "ask what is in memory of");
        const std::uint64_t in_slice = (slice.bytes + page_bytes() - 1) / page_bytes();
        count += static_cast<std::uint64_t>(
            std::count_if(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(in_slice),
                          [](unsigned char page) { return (page & 1U) != 0; }));
    }
    cached_bytes found = unknown;
    found.resident = std::min(count * page_bytes(), part.bytes);
    if (is_memory(descriptor)) found.dirty = found.writeback = 0;
    return found;
}

cached_bytes ask(int descriptor, const std::filesystem::path& file, file_part part,
                 page_cache_call call) {
    if (part.bytes == 0) return {};
    if (call == page_cache_call::cachestat && !is_overlay(descriptor))
        if (auto found = by_cachestat(descriptor, file, part)) return *found;
    return by_mincore(descriptor, file, part);
}

} // namespace

bool is_memory(int descriptor) noexcept {
    struct statfs system{};
    return ::fstatfs(descriptor, &system) == 0 && is_of_memory(system);
}

bool is_memory(const std::filesystem::path& file) noexcept {
    struct statfs system{};
    return ::statfs(file.c_str(), &system) == 0 && is_of_memory(system);
}

bool is_memory_type(std::string_view file_system) noexcept {
    return file_system == "tmpfs" || file_system == "ramfs";
}

cached_bytes& cached_bytes::operator+=(const cached_bytes& other) noexcept {
    add(resident, other.resident);
    add(dirty, other.dirty);
    add(writeback, other.writeback);
    add(missing, other.missing);
    return *this;
}

cached_bytes cached_part_of(int descriptor, const std::filesystem::path& file, file_part part,
                            page_cache_call call) {
    struct stat found{};
    if (::fstat(descriptor, &found) != 0) throw_file_error(file, "look at");
    if (!may_be_told(found, file)) return unknown;
    const auto length = static_cast<std::uint64_t>(found.st_size);
    // A large folio may go on beyond the end of a file that was cut.
    part.bytes = std::min(part.bytes, length - std::min(length, part.begin));
    return ask(descriptor, file, part, call);
}

cached_bytes cached_bytes_of(const std::filesystem::path& file, page_cache_call call) {
    const file_descriptor opened(
        ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (opened.number() < 0 && errno == ENOENT) return {};
    if (opened.number() < 0 && (errno == EACCES || errno == EPERM)) return unknown;
    struct stat found{};
    if (opened.number() < 0 || ::fstat(opened.number(), &found) != 0)
        throw_file_error(file, "look at");
    if (!may_be_told(found, file)) return unknown;
    const auto length = static_cast<std::uint64_t>(found.st_size);
    constexpr std::uint64_t block = 512; // the unit of st_blocks, whatever the file system
    const std::uint64_t held =
        std::min(length, static_cast<std::uint64_t>(found.st_blocks) * block);
    const bool is_counted = is_memory(opened.number()) && held != 0; // ramfs counts no blocks
    if (call == page_cache_call::cachestat && is_counted && !is_anything_swapped())
        return {held, 0, 0, 0};
    cached_bytes all = ask(opened.number(), file, {0, length}, call);
    all.missing = held - std::min(held, *all.resident);
    return all;
}

cached_bytes cached_files::of(const std::filesystem::path& file) {
    const std::lock_guard alone(asking_);
    const auto begin = std::chrono::steady_clock::now();
    answer& known = answers_[file];
    if (begin < known.due) return known.bytes;
    known.bytes = cached_bytes_of(file);
    const auto end = std::chrono::steady_clock::now();
    known.due = end + 20 * (end - begin);
    return known.bytes;
}

} // namespace chainbase
