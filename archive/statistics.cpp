#include <archive/statistics.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

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

std::uint64_t latency_histogram::count() const noexcept {
    std::uint64_t all = 0;
    for (const auto& count : counts_)
        all += count.load(std::memory_order_relaxed);
    return all;
}

latency_reading latency_histogram::read() const noexcept {
    latency_reading now;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
        now.counts_.add(bucket, counts_[bucket].load(std::memory_order_relaxed));
    now.total_ns_ = total_ns_.load(std::memory_order_relaxed);
    now.longest_ns_ = longest_ns_.load(std::memory_order_relaxed);
    return now;
}

namespace {

times_summary in_short(const latency_reading& times) {
    return {.count = times.count(),
            .measured = times.count(),
            .total_ns = times.total_ns(),
            .p50_ns = times.quantile(0.5),
            .p99_ns = times.quantile(0.99),
            .p999_ns = times.quantile(0.999),
            .longest_ns = times.longest_ns()};
}

std::atomic<std::uint32_t> threads{0};

/// splitmix64 (Sebastiano Vigna): every state is a good one.
std::uint64_t next_random(std::uint64_t& state) noexcept {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

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

/// Returns null when it cannot be mapped.
void* map(int descriptor, std::size_t bytes, int protection) {
    const int how = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* const at = ::mmap(nullptr, bytes, protection, how, descriptor, 0);
    return at == MAP_FAILED ? nullptr : at;
}

/// Allocates all blocks at once: a store to a page without disk space would end the process.
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

bool detail::begin_next_distance() noexcept {
    constexpr std::uint64_t farthest = 127; // 64 on average
    sampling& own = own_sampling;
    if (own.number == 0) {
        own.number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
        own.random = own.number;
    }
    own.left = static_cast<std::uint32_t>(next_random(own.random) % farthest);
    return true;
}

times_summary lookup_times::summarized() const noexcept {
    times_summary all = in_short(times_.read());
    all.count += passed_.value();
    if (all.measured != 0)
        all.total_ns = static_cast<std::uint64_t>(static_cast<double>(all.total_ns) /
                                                  static_cast<double>(all.measured) *
                                                  static_cast<double>(all.count));
    return all;
}

statistics_summary statistics::summarized() const noexcept {
    return {.hits_in_memory = lookups(lookup::hit_in_memory).summarized(),
            .hits_in_archive = lookups(lookup::hit_in_archive).summarized(),
            .misses = lookups(lookup::miss).summarized(),
            .known_misses = lookups(lookup::known_miss).summarized(),
            .failures = failures,
            .rows_put = rows_put,
            .rows_unchanged = rows_unchanged,
            .rows_erased = rows_erased,
            .bytes_put = bytes_put,
            .record_bytes_put = record_bytes_put,
            .objects_handed_over = objects_handed_over,
            .largest_batch_rows = largest_batch_rows,
            .largest_batch_bytes = largest_batch_bytes,
            .encodings = in_short(encodings.read()),
            .batches = in_short(batches.read()),
            .waits = in_short(waits.read()),
            .removals = in_short(removals.read()),
            .syncs = in_short(syncs.read())};
}

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
    std::atomic_thread_fence(std::memory_order_release);
    std::strncpy(at_->mark, mark().c_str(),
                 sizeof at_->mark - 1); // last, since look() checks it first
}

statistics_page::statistics_page() : statistics_page(-1) {}

statistics_page::statistics_page(const fs::path& folder)
    : statistics_page(make_file(folder / "statistics", sizeof(content)).number()) {}

statistics_page::~statistics_page() {
    if (origin_.is_here()) at_->closed.store(unix_seconds(), std::memory_order_relaxed);
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
    const bool is_whole = std::strncmp(at->mark, mark().c_str(), sizeof at->mark) == 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (is_whole)
        told = {at->process, at->opened, at->closed.load(std::memory_order_relaxed),
                at->figures.summarized()};
    ::munmap(const_cast<content*>(at), sizeof(content));
    return told;
}

} // namespace chainbase::archive
