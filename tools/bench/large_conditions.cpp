#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <tools/bench/large_conditions.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace chainbase::bench {

namespace fs = std::filesystem;

std::optional<disk_count> disk_count::below(const fs::path& folder) {
    if (is_memory(folder)) return disk_count();
    struct stat status{};
    if (stat(folder.c_str(), &status) != 0) return {};
    std::ifstream file(
        fmt::format("/sys/dev/block/{}:{}/stat", major(status.st_dev), minor(status.st_dev)));
    std::array<std::uint64_t, 7> words{};
    for (std::uint64_t& word : words)
        file >> word;
    if (!file) return {};
    constexpr std::uint64_t sector = 512;
    return disk_count{words[2] * sector, words[6] * sector};
}

std::uint64_t held_in_files(const fs::path& folder) {
    std::uint64_t held = 0;
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
        struct stat status{};
        if (file.is_regular_file() && stat(file.path().c_str(), &status) == 0)
            held += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return held;
}

namespace {

constexpr std::uint64_t least_piece = std::uint64_t{16} << 20;

} // namespace

taken_memory::taken_memory(std::uint64_t left) {
    while (true) {
        const std::uint64_t now = available();
        if (now < left + least_piece) break;
        take(std::max((now - left) / 2 / least_piece, std::uint64_t{1}) * least_piece);
    }
}

taken_memory::~taken_memory() {
    for (const auto& [at, bytes] : pieces_)
        munmap(at, bytes);
}

std::uint64_t taken_memory::available() {
    const std::uint64_t machine = resource_limits::available_memory().value_or(0);
    const auto group = resource_limits::least_memory_room();
    return group ? std::min(machine, group->bytes) : machine;
}

void taken_memory::take(std::uint64_t bytes) {
    pieces_.reserve(pieces_.size() + 1);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) throw_no_addresses(bytes);
    pieces_.emplace_back(at, bytes);
    if (mlock(at, bytes) != 0 && pieces_.size() == 1)
        spdlog::warn("bench: the memory that is taken away cannot be locked (ulimit -l), so a "
                     "machine with swap may give some back");
}

} // namespace chainbase::bench
