#include <archive/statistics_page.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/private_folder.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <string>

namespace chainbase::archive {

namespace {

namespace fs = std::filesystem;

/// The layout is that of this version of the program, as far as its size tells; raise the number
/// when it changes otherwise.
constexpr unsigned layout = 1;

std::string mark() {
    return "chainbase archive statistics " + std::to_string(layout) + "." +
           std::to_string(sizeof(statistics)) + "\n";
}

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// Returns null when it cannot be.
void* map(int descriptor, std::size_t bytes, int protection) {
    const int how = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* const at = ::mmap(nullptr, bytes, protection, how, descriptor, 0);
    return at == MAP_FAILED ? nullptr : at;
}

} // namespace

struct statistics_page::content {
    char mark[64];
    std::uint64_t process;
    std::int64_t opened;
    std::atomic<std::int64_t> closed;
    statistics figures;
};

statistics_page::statistics_page(int descriptor) : at_(nullptr) {
    void* const memory = map(descriptor, sizeof(content), PROT_READ | PROT_WRITE);
    if (memory == nullptr) throw_file_error("the statistics of an archive", "map");
    at_ = ::new (memory) content{};
    at_->process = static_cast<std::uint64_t>(::getpid());
    at_->opened = unix_seconds();
    std::strncpy(at_->mark, mark().c_str(), sizeof at_->mark - 1); // last, as look() asks first
}

statistics_page::statistics_page() : statistics_page(-1) {}

namespace {

/// All of its blocks at once: a store to a page that the disk has no room for ends the process.
file_descriptor make_file(const fs::path& file, std::size_t bytes) {
    require_file_limit(file, bytes);
    file_descriptor made = open_private(file, file_use::replace);
    const int failed = ::posix_fallocate(made.number(), 0, static_cast<off_t>(bytes));
    if (failed == 0) return made;
    ::unlink(file.c_str());
    errno = failed;
    throw_file_error(file, "make room for");
}

} // namespace

statistics_page::statistics_page(const fs::path& folder)
    : statistics_page(make_file(folder / "statistics", sizeof(content)).number()) {}

statistics_page::~statistics_page() {
    at_->closed.store(unix_seconds(), std::memory_order_relaxed);
    ::munmap(at_, sizeof(content));
}

statistics& statistics_page::operator*() const noexcept {
    return at_->figures;
}

std::optional<published_statistics> statistics_page::look(const fs::path& folder) {
    const fs::path file = folder / "statistics";
    if (!fs::exists(file)) return std::nullopt;
    const file_descriptor opened = open_private(file, file_use::read);
    struct stat found{};
    if (::fstat(opened.number(), &found) != 0) throw_file_error(file, "examine");
    if (found.st_size != static_cast<off_t>(sizeof(content))) return std::nullopt;
    const auto* const at =
        static_cast<const content*>(map(opened.number(), sizeof(content), PROT_READ));
    if (at == nullptr) throw_file_error(file, "map");
    std::optional<published_statistics> told;
    if (std::strncmp(at->mark, mark().c_str(), sizeof at->mark) == 0)
        told = {at->process, at->opened, at->closed.load(std::memory_order_relaxed),
                at->figures.summarized()};
    ::munmap(const_cast<content*>(at), sizeof(content));
    return told;
}

} // namespace chainbase::archive
