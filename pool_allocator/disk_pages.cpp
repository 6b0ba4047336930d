#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <pool_allocator/disk_pages.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace chainbase::disk_pages {

namespace {

std::atomic<bool> missed{false};

std::atomic<std::uint64_t> assumed_room{0};

/// In a second: fewer are those of a program that starts.
constexpr std::uint64_t many_misses = 32;

std::uint64_t misses_so_far() noexcept {
    struct rusage used{};
    return getrusage(RUSAGE_SELF, &used) == 0 ? static_cast<std::uint64_t>(used.ru_majflt) : 0;
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
    std::byte* base;
    std::size_t bytes;
    int descriptor;
    use how;

    void advise() const noexcept {
        const bool small = missed.load(std::memory_order_relaxed);
        madvise(base, bytes, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
        if (how != use::append) madvise(base, bytes, small ? MADV_RANDOM : MADV_NORMAL);
    }
    /// Writes back what changed of a part of the file and drops it from memory, as far as no other
    /// process has it mapped. It is read again as small pages; the kernel divides no huge ones that
    /// it has read, and one of 512 small ones in use keeps all of them.
    void drop(std::uint64_t offset, std::uint64_t length) const noexcept {
        const auto at = static_cast<off_t>(offset);
        const auto many = static_cast<off_t>(length);
        sync_file_range(descriptor, at, many,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                            SYNC_FILE_RANGE_WAIT_AFTER);
        madvise(base + offset, length, MADV_DONTNEED); // of a shared mapping: it stays in the file
        posix_fadvise(descriptor, at, many, POSIX_FADV_DONTNEED);
    }
    [[nodiscard]] std::uint64_t file_bytes() const noexcept {
        struct stat status{};
        return fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
    }
};

/// The mappings of this process and the thread that looks after them. Never destroyed: the thread
/// ends by itself when there is no mapping left.
class watcher {
public:
    void add(const mapping& one) {
        const std::lock_guard lock(mutex_);
        mappings_.push_back(one);
        one.advise();
        if (!missed && one.file_bytes() >= worth_a_look && !fits()) turn();
        if (!runs_) background_thread("disk_pages", [this] { run(); }).detach();
        runs_ = true;
    }
    void remove(const std::byte* base) {
        const std::lock_guard lock(mutex_);
        std::erase_if(mappings_, [&](const mapping& one) { return one.base == base; });
        if (mappings_.empty()) changed_.notify_all();
    }
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }

private:
    static constexpr std::uint64_t worth_a_look = std::uint64_t{16} << 20;
    static constexpr std::uint64_t part = std::uint64_t{8} << 20;

    void run() {
        std::unique_lock lock(mutex_);
        std::uint64_t before = misses_so_far();
        while (
            !changed_.wait_for(lock, std::chrono::seconds(1), [&] { return mappings_.empty(); })) {
            const std::uint64_t now = misses_so_far();
            look(now - before);
            before = now;
            if (drops_) drop_all(lock);
        }
        missed = false;
        runs_ = false;
    }
    void look(std::uint64_t misses) noexcept {
        try {
            const bool has_room = fits();
            if (has_room != missed) return;
            if (!has_room && misses < many_misses) return;
        } catch (const std::exception&) {
            return;
        }
        turn();
    }
    /// Lets go of the lock between parts, since it takes as long as the disk. A mapping that ends
    /// meanwhile leaves a part of the next one where it is.
    void drop_all(std::unique_lock<std::mutex>& lock) noexcept {
        drops_ = false;
        for (std::size_t i = 0; i < mappings_.size(); ++i)
            for (std::uint64_t at = 0; i < mappings_.size(); at += part) {
                const mapping& one = mappings_[i];
                if (one.how != use::change || at >= one.file_bytes()) break;
                one.drop(at, std::min<std::uint64_t>(part, one.bytes - at));
                lock.unlock();
                std::this_thread::yield();
                lock.lock();
            }
    }
    void turn() noexcept {
        missed = !missed;
        drops_ = missed;
        for (const mapping& one : mappings_)
            one.advise();
    }
    [[nodiscard]] bool fits() const {
        std::uint64_t all = 0;
        for (const mapping& one : mappings_)
            all += one.file_bytes();
        return all <= room_for_files();
    }

    process_of_origin origin_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<mapping> mappings_;
    bool runs_ = false;
    bool drops_ = false; ///< what is in memory, when the thread comes to it
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
    void run(std::size_t parts, const std::function<void(std::size_t)>& look) {
        if (busy_.exchange(true)) { // also with an outer call of this thread
            for (std::size_t i = 0; i < parts; ++i)
                look(i);
            return;
        }
        const turn of_this_call{busy_};
        threads_.run(parts, look);
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

bool has(int descriptor) noexcept {
    struct statfs system{};
    return fstatfs(descriptor, &system) == 0 && system.f_type != TMPFS_MAGIC &&
           system.f_type != RAMFS_MAGIC;
}

void watch(std::byte* base, std::size_t bytes, int descriptor, use how) noexcept {
    if (!has(descriptor)) {
        madvise(base, bytes, MADV_HUGEPAGE); // a kernel without it still works
        return;
    }
    try {
        own(known_watcher).add({base, bytes, descriptor, how});
    } catch (const std::exception&) {
    }
}

void forget(std::byte* base) noexcept {
    watcher* const there = known_watcher.load();
    if (there && there->is_here()) there->remove(base);
}

void assume_room(std::uint64_t bytes) noexcept {
    assumed_room = bytes;
}

bool are_missed() noexcept {
    return missed.load(std::memory_order_relaxed);
}

void together(std::size_t parts, const std::function<void(std::size_t)>& look) {
    waiting_threads* threads = nullptr;
    try {
        threads = &own(known_threads);
    } catch (const std::exception&) { // no threads
    }
    if (threads) return threads->run(parts, look);
    for (std::size_t i = 0; i < parts; ++i)
        look(i);
}

} // namespace chainbase::disk_pages
