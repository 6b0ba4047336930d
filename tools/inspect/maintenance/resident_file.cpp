#include <pool_allocator/decimal.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <tools/inspect/maintenance/resident_file.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace chainbase::inspect {

namespace {

std::uint64_t page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

std::uint64_t rounded_up(std::uint64_t number, std::uint64_t to) {
    return (number + to - 1) / to * to;
}

int open_or_throw(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0 && (errno == EACCES || errno == EPERM))
        throw access_error(file.string() + ": this user may not read it; call as the user that the "
                                           "state belongs to");
    if (opened < 0) throw_file_error(file, "open");
    return opened;
}

} // namespace

resident_file::resident_file(const std::filesystem::path& file, std::uint64_t most)
    : file_(file), descriptor_(open_or_throw(file)) {
    struct stat found{};
    if (::fstat(descriptor_.number(), &found) != 0) throw_file_error(file, "look at");
    bytes_ = std::min(static_cast<std::uint64_t>(found.st_size), most);
    if (bytes_ == 0) return;
    const std::uint64_t alignment = std::max(huge_page_bytes(), page_bytes());
    reserved_bytes_ = rounded_up(bytes_, page_bytes()) + alignment;
    void* const reserved = ::mmap(nullptr, reserved_bytes_, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw_file_error(file, "map");
    reserved_ = static_cast<std::byte*>(reserved);
    const auto address = reinterpret_cast<std::uintptr_t>(reserved);
    base_ = reserved_ + (rounded_up(address, alignment) - address);
    if (::mmap(base_, bytes_, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_.number(), 0) ==
        MAP_FAILED) {
        ::munmap(reserved_, reserved_bytes_);
        throw_file_error(file, "map");
    }
}

resident_file::~resident_file() {
    if (reserved_) ::munmap(reserved_, reserved_bytes_);
}

/// Of what is beyond the end now nothing is told.
std::vector<resident_file::extent> resident_file::data() const {
    std::vector<extent> found;
    for (std::uint64_t at = 0; at < bytes_;) {
        const auto from = ::lseek(descriptor_.number(), static_cast<off_t>(at), SEEK_DATA);
        if (from < 0 && errno == ENXIO) break;
        const auto to = from < 0 ? from : ::lseek(descriptor_.number(), from, SEEK_HOLE);
        if (from < 0 || to < 0) throw_file_error(file_, "look for holes in");
        const auto begin = static_cast<std::uint64_t>(from);
        at = std::min(static_cast<std::uint64_t>(to), bytes_);
        if (begin < at) found.push_back({begin, at - begin});
    }
    return found;
}

// --- what is in memory ---------------------------------------------------------------------------

/// To all others the kernel says that everything is.
bool resident_file::may_be_told() const {
    struct stat found{};
    return ::fstat(descriptor_.number(), &found) == 0 &&
           (found.st_uid == ::geteuid() ||
            ::faccessat(AT_FDCWD, file_.c_str(), W_OK, AT_EACCESS) == 0);
}

std::optional<std::uint64_t> resident_file::resident() const {
    return resident({0, bytes_});
}

std::optional<std::uint64_t> resident_file::resident(extent part) const {
    if (!may_be_told()) return std::nullopt;
    const std::uint64_t end = part.begin + part.bytes;
    std::vector<unsigned char> pages(slice_bytes / page_bytes());
    std::uint64_t sum = 0;
    for (std::uint64_t from = part.begin / page_bytes() * page_bytes(); from < end;
         from += slice_bytes) {
        const std::uint64_t length = std::min(slice_bytes, end - from);
        if (::mincore(base_ + from, length, pages.data()) != 0)
            throw_file_error(file_, "ask what is in memory of");
        for (std::uint64_t at = from; at < from + length; at += page_bytes())
            if ((pages[(at - from) / page_bytes()] & 1U) != 0)
                sum += std::min(at + page_bytes(), end) - std::max(at, part.begin);
    }
    return sum;
}

void resident_file::fetch(extent part) {
    const std::uint64_t begin = part.begin / page_bytes() * page_bytes();
    const std::uint64_t length = rounded_up(part.begin + part.bytes, page_bytes()) - begin;
    if (::madvise(base_ + begin, length, MADV_POPULATE_READ) == 0) return;
    read_slowly(part); // a kernel before 5.14, a file that was cut, or a disk that fails
}

void resident_file::read_slowly(extent part) {
    std::vector<std::byte> into(std::uint64_t{1} << 20);
    const std::uint64_t end = part.begin + part.bytes;
    for (std::uint64_t at = part.begin; at < end;) {
        const ssize_t got =
            ::pread(descriptor_.number(), into.data(),
                    std::min<std::uint64_t>(into.size(), end - at), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_file_error(file_, "read");
        if (got == 0) return;
        at += static_cast<std::uint64_t>(got);
    }
}

void resident_file::announce(extent part) noexcept {
    ::posix_fadvise(descriptor_.number(), static_cast<off_t>(part.begin),
                    static_cast<off_t>(part.bytes), POSIX_FADV_WILLNEED);
}

// --- huge pages ----------------------------------------------------------------------------------

std::uint64_t resident_file::huge_page_bytes() {
    static const std::uint64_t bytes = [] {
        std::ifstream from("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        std::string digits;
        std::getline(from, digits);
        return decimal_in(digits).value_or(0);
    }();
    return bytes;
}

std::vector<resident_file::extent> resident_file::huge_candidates() const {
    const std::uint64_t huge = huge_page_bytes();
    std::vector<extent> found;
    if (huge == 0) return found;
    for (const extent& part : data())
        for (std::uint64_t at = rounded_up(part.begin, huge); at + huge <= part.begin + part.bytes;
             at += huge)
            found.push_back({at, huge});
    return found;
}

void resident_file::advise_huge() noexcept {
    if (base_) ::madvise(base_, bytes_, MADV_HUGEPAGE);
}

int resident_file::collapse(extent huge_page) noexcept {
    return ::madvise(at(huge_page), huge_page.bytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

std::uint64_t resident_file::huge() const {
    const auto pages = pages_mapped_by(::getpid(), std::filesystem::canonical(file_).parent_path());
    return pages ? pages->huge() : 0;
}

} // namespace chainbase::inspect
