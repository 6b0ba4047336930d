#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <pool_allocator/disk_pages.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::disk_pages {

namespace {

std::atomic<std::uint64_t> assumed_room{0};
std::atomic<bool> assumed_misses{false};

/// In a second. A process that waits for a disk all the time misses thousands (12,000 if the disk
/// answers in 80 us); fewer than this are a page now and then, and not worth a thread.
constexpr double many_misses = 32;

struct waits {
    std::uint64_t faults = 0;         ///< major ones
    std::uint64_t pages = UINT64_MAX; ///< read from disks; the largest number if that is not known
};

/// A file that grows has major faults, too, for pages that it never had, which read nothing.
std::uint64_t misses_between(const waits& before, const waits& after) noexcept {
    const std::uint64_t faults = after.faults - before.faults;
    if (before.pages == UINT64_MAX || after.pages == UINT64_MAX) return faults;
    return std::min(faults, after.pages - before.pages);
}

/// Of this process, all its threads.
std::uint64_t pages_read_so_far() noexcept {
    try {
        constexpr std::uint64_t page = 4096;
        std::ifstream counts("/proc/self/io");
        std::uint64_t value = 0;
        for (std::string name; counts >> name >> value;)
            if (name == "read_bytes:") return value / page;
    } catch (const std::exception&) {
    }
    return UINT64_MAX;
}

waits waits_so_far() noexcept {
    struct rusage used{};
    if (getrusage(RUSAGE_SELF, &used) != 0) return {};
    return {static_cast<std::uint64_t>(used.ru_majflt), pages_read_so_far()};
}

/// With what caches hold, since they make room.
std::uint64_t room_for_files() {
    if (const std::uint64_t assumed = assumed_room) return assumed;
    std::uint64_t room =
        resource_limits::available_memory().value_or(std::numeric_limits<std::uint64_t>::max());
    if (const auto group = resource_limits::least_memory_room())
        room = std::min(room, group->bytes);
    return room - room / 16;
}

struct mapping {
    const std::byte* base;
    int descriptor;
    std::uint64_t end = 0;   ///< of the part of the file that is to be in memory
    std::uint64_t begin = 0; ///< of that, what was not yet asked for
    std::uint64_t held = 0;  ///< bytes, holes not included

    void want_all() noexcept {
        struct stat status{};
        if (fstat(descriptor, &status) != 0) return;
        begin = 0;
        end = static_cast<std::uint64_t>(status.st_size);
        held = static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
};

/// Asks for the file's bytes from `begin` on, without holes, which would take memory. Returns where
/// to go on; `end` when nothing is left.
std::uint64_t read_ahead(const file_descriptor& file, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t at_once = std::uint64_t{8} << 20;
    constexpr std::uint64_t call = std::uint64_t{128} << 10; // the kernel reads no more in one
    const off_t data = lseek(file.number(), static_cast<off_t>(begin), SEEK_DATA);
    if (data < 0) return end;
    const off_t hole = lseek(file.number(), data, SEEK_HOLE);
    const auto from = static_cast<std::uint64_t>(data);
    const std::uint64_t to =
        std::min({hole < 0 ? end : static_cast<std::uint64_t>(hole), end, from + at_once});
    for (std::uint64_t at = from; at < to; at += call)
        posix_fadvise(file.number(), static_cast<off_t>(at),
                      static_cast<off_t>(std::min(call, to - at)), POSIX_FADV_WILLNEED);
    return std::max(to, begin + 1);
}

/// The mappings of this process and the thread that looks after them. Never destroyed: the thread
/// ends by itself when there is no mapping left.
class watcher {
public:
    void add(const mapping& one) {
        const std::lock_guard lock(mutex_);
        mappings_.push_back(one);
        if (!runs_) background_thread("disk_pages", [this] { run(); }).detach();
        runs_ = true;
        changed_.notify_all();
    }
    void remove(const std::byte* base) {
        const std::lock_guard lock(mutex_);
        std::erase_if(mappings_, [&](const mapping& one) { return one.base == base; });
        changed_.notify_all();
    }
    void read_all(const std::byte* base) {
        const std::lock_guard lock(mutex_);
        for (mapping& one : mappings_)
            if (one.base == base) one.want_all();
        changed_.notify_all();
    }
    [[nodiscard]] bool misses() const noexcept { return misses_; }
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }

private:
    using steady = std::chrono::steady_clock;

    void run() {
        std::unique_lock lock(mutex_);
        count();
        while (!mappings_.empty()) {
            if (!read_some(lock)) changed_.wait_for(lock, std::chrono::seconds(1));
            if (steady::now() - counted_at_ >= std::chrono::seconds(1))
                misses_ = count() >= many_misses;
        }
        misses_ = false;
        runs_ = false;
    }
    /// The misses per second since the last call.
    double count() noexcept {
        const waits before = std::exchange(counted_, waits_so_far());
        const auto since = std::exchange(counted_at_, steady::now());
        const std::chrono::duration<double> passed = counted_at_ - since;
        return static_cast<double>(misses_between(before, counted_)) / passed.count();
    }
    /// Asks for a part of a file, without the lock. Returns whether there may be more.
    bool read_some(std::unique_lock<std::mutex>& lock) noexcept {
        const auto next = std::find_if(mappings_.begin(), mappings_.end(),
                                       [](const mapping& one) { return one.begin < one.end; });
        if (next == mappings_.end()) return false;
        const mapping one = *next;
        const std::uint64_t all =
            std::accumulate(mappings_.begin(), mappings_.end(), std::uint64_t{0},
                            [](std::uint64_t sum, const mapping& each) { return sum + each.held; });
        const file_descriptor file(fcntl(one.descriptor, F_DUPFD_CLOEXEC, 0)); // it may be closed
        lock.unlock();
        const std::uint64_t done = fits(all) ? read_ahead(file, one.begin, one.end) : one.end;
        lock.lock();
        for (mapping& each : mappings_)
            if (each.base == one.base) each.begin = std::max(each.begin, done);
        return true;
    }
    [[nodiscard]] static bool fits(std::uint64_t bytes) noexcept {
        try {
            return bytes <= room_for_files();
        } catch (const std::exception&) {
            return false;
        }
    }

    process_of_origin origin_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<mapping> mappings_;
    waits counted_;
    steady::time_point counted_at_{};
    std::atomic<bool> misses_{false};
    bool runs_ = false;
};

/// One in each process; a fork's parent has another.
template <typename T>
T& own(std::atomic<T*>& known) {
    T* there = known.load();
    while (!there || !there->is_here()) {
        auto made = std::make_unique<T>();
        if (known.compare_exchange_strong(there, made.get())) {
            leak(std::unique_ptr<T>(there));
            return *made.release();
        }
    }
    return *there;
}

std::atomic<watcher*> known_watcher;

/// Threads that wait for the disk.
class waiting_threads {
public:
    void run(std::size_t parts, const std::function<void(std::size_t)>& read) {
        if (busy_.exchange(true)) { // also with an outer call of this thread
            for (std::size_t i = 0; i < parts; ++i)
                read(i);
            return;
        }
        const turn of_this_call{busy_};
        threads_.run(parts, read);
    }
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }

private:
    struct turn {
        std::atomic<bool>& busy;
        ~turn() { busy = false; }
    };

    process_of_origin origin_;
    std::atomic<bool> busy_{false};
    thread_pool threads_{reads_at_once - 1};
};

std::atomic<waiting_threads*> known_threads;

} // namespace

void advise(std::byte* base, std::size_t bytes, int descriptor, bool changes) noexcept {
    if (is_memory(descriptor)) {
        madvise(base, bytes, MADV_HUGEPAGE); // a kernel without it still works
        return;
    }
    madvise(base, bytes, MADV_NOHUGEPAGE);
    madvise(base, bytes, MADV_RANDOM);
    mapping one{base, descriptor};
    if (changes) one.want_all();
    try {
        own(known_watcher).add(one);
    } catch (const std::exception&) {
    }
}

void forget(std::byte* base) noexcept {
    watcher* const there = known_watcher.load();
    if (there && there->is_here()) there->remove(base);
}

void read_all(const std::byte* base) noexcept {
    watcher* const there = known_watcher.load();
    if (there && there->is_here()) there->read_all(base);
}

void assume_room(std::uint64_t bytes) noexcept {
    assumed_room = bytes;
}

void assume_misses(bool yes) noexcept {
    assumed_misses = yes;
}

bool are_missed() noexcept {
    if (assumed_misses) return true;
    const watcher* const there = known_watcher.load();
    return there && there->is_here() && there->misses();
}

std::uint64_t misses_of_this_thread() noexcept {
    static thread_local std::uint64_t assumed = 0;
    if (assumed_misses) return assumed += 1'000;
    struct rusage used{};
    return getrusage(RUSAGE_THREAD, &used) == 0 ? static_cast<std::uint64_t>(used.ru_majflt) : 0;
}

void in_parallel(std::size_t parts, const std::function<void(std::size_t)>& read) {
    waiting_threads* threads = nullptr;
    try {
        threads = &own(known_threads);
    } catch (const std::exception&) { // no threads
    }
    if (threads) return threads->run(parts, read);
    for (std::size_t i = 0; i < parts; ++i)
        read(i);
}

} // namespace chainbase::disk_pages
