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

bool is_memory(const struct statfs& system) noexcept {
    return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

struct mapping {
    std::byte* base;
    int descriptor;
    std::uint64_t bytes;   ///< of the file, when it was opened
    std::uint64_t brought; ///< of these into memory
};

/// The mappings of this process and the thread that looks after them. Never destroyed: the thread
/// ends by itself when there is no mapping left.
class watcher {
public:
    void add(const mapping& one) {
        const std::lock_guard lock(mutex_);
        mappings_.push_back(one);
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
    static constexpr std::uint64_t part = std::uint64_t{8} << 20;

    void run() {
        std::unique_lock lock(mutex_);
        std::uint64_t before = misses_so_far();
        while (
            !changed_.wait_for(lock, std::chrono::seconds(1), [&] { return mappings_.empty(); })) {
            const std::uint64_t now = misses_so_far();
            missed = now - before >= many_misses;
            before = now;
            bring_all(lock);
        }
        missed = false;
        runs_ = false;
    }
    /// Lets go of the lock between parts, since it takes as long as the disk.
    void bring_all(std::unique_lock<std::mutex>& lock) noexcept {
        while (mapping* const one = next_to_bring()) {
            const std::uint64_t bytes = std::min(part, one->bytes - one->brought);
            if (fits())
                posix_fadvise(one->descriptor, static_cast<off_t>(one->brought),
                              static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
            one->brought += bytes;
            lock.unlock();
            std::this_thread::yield();
            lock.lock();
        }
    }
    [[nodiscard]] mapping* next_to_bring() noexcept {
        const auto found = std::find_if(mappings_.begin(), mappings_.end(),
                                        [](const mapping& one) { return one.brought < one.bytes; });
        return found == mappings_.end() ? nullptr : &*found;
    }
    [[nodiscard]] bool fits() const noexcept {
        std::uint64_t all = 0;
        for (const mapping& one : mappings_)
            all += one.bytes;
        try {
            return all <= room_for_files();
        } catch (const std::exception&) {
            return false;
        }
    }

    process_of_origin origin_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<mapping> mappings_;
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
    return fstatfs(descriptor, &system) == 0 && !is_memory(system);
}

bool has(const std::filesystem::path& file) noexcept {
    struct statfs system{};
    return statfs(file.c_str(), &system) == 0 && !is_memory(system);
}

void watch(std::byte* base, std::size_t bytes, int descriptor, bool changes) noexcept {
    if (!has(descriptor)) {
        madvise(base, bytes, MADV_HUGEPAGE); // a kernel without it still works
        return;
    }
    madvise(base, bytes, MADV_NOHUGEPAGE);
    mapping one{base, descriptor, 0, 0};
    if (changes) {
        madvise(base, bytes, MADV_RANDOM);
        struct stat status{};
        if (fstat(descriptor, &status) == 0) one.bytes = static_cast<std::uint64_t>(status.st_size);
    }
    try {
        own(known_watcher).add(one);
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
