#include <chainbase/snapshot/guarded_read.hpp>
#include <chainbase/snapshot/snapshot_pages.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace chainbase {

namespace {

constexpr std::uint64_t page = window_header::page_bytes;
constexpr std::uint64_t small_step = std::uint64_t{64} << 10;
constexpr unsigned pages_of_step = small_step / page;
static_assert(pages_of_step == 16, "a bit of a mask for each");
/// Once there are many small ones: a process may have some 65,000 mappings (vm.max_map_count).
constexpr std::uint64_t large_step = std::uint64_t{2} << 20;
constexpr std::size_t many = 16'384;
std::atomic<std::size_t> small_steps{0}; ///< of all snapshots of the process
bool are_many() noexcept {
    return small_steps.load(std::memory_order_relaxed) >= many;
}

struct entry {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<snapshot_pages*> pages{nullptr};
};
constexpr std::size_t most_snapshots = 256;
entry registry[most_snapshots];
struct sigaction former; ///< what handled SIGSEGV before

std::mutex& registry_mutex() {
    static std::mutex mutex;
    return mutex;
}

const trace::counter pages_copied("snapshot.pages");
const trace::counter failed_reads("snapshot.failed_reads");

constexpr const char* memory_name = "the memory of a snapshot";

file_descriptor make_memory(std::uint64_t bytes) {
    require_file_limit(memory_name, bytes);
    file_descriptor made(memfd_create("chainbase-snapshot", MFD_CLOEXEC));
    if (made.number() < 0) throw_file_error(memory_name, "make");
    if (ftruncate(made.number(), static_cast<off_t>(bytes)) != 0)
        throw_file_error(memory_name, "lengthen");
    return made;
}

/// Gives the signal to whoever handled it before. One that raises it again ends the process.
void pass_on(int signal, siginfo_t* about, void* context) {
    static thread_local constinit bool is_passing = false;
    const bool is_handled = (former.sa_flags & SA_SIGINFO) != 0 ||
                            (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN);
    if (is_passing || !is_handled) {
        ::signal(signal, SIG_DFL); // and the access is repeated
        return;
    }
    is_passing = true;
    if ((former.sa_flags & SA_SIGINFO) != 0)
        former.sa_sigaction(signal, about, context);
    else
        former.sa_handler(signal);
    is_passing = false;
}

/// A function of its own, without temporaries: the jump destroys none.
void leave_at_link() {
    std::exception_ptr failure = std::make_exception_ptr(damaged_error(
        std::string(memory_name) + ": a link leads out of it; run chainbase-inspect check"));
    detail::leave_guarded_read(std::move(failure));
}

} // namespace

snapshot_pages::snapshot_pages(const address_space& range, before_images& images,
                               std::uint64_t live_window_bytes)
    : range_(range), bytes_(range.window_bytes() * range.windows()),
      live_window_bytes_(live_window_bytes), images_(images), memory_(make_memory(bytes_)),
      piece_(small_step) {
    if (mmap(range.base(), bytes_, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             memory_.number(), 0) == MAP_FAILED)
        throw_file_error(memory_name, "map");
    madvise(range.base(), bytes_, MADV_DONTFORK);
    madvise(range.base(), bytes_, MADV_DONTDUMP);
    install_handler();
    enter();
}

snapshot_pages::~snapshot_pages() {
    small_steps.fetch_sub(small_, std::memory_order_relaxed);
    leave();
}

void snapshot_pages::add(std::size_t index, int file) {
    file_descriptor own(fcntl(file, F_DUPFD_CLOEXEC, 0));
    if (own.number() < 0) throw_file_error("a window of a snapshot", "keep open");
    const std::lock_guard alone(mutex_);
    files_.emplace(index, std::move(own));
}

void snapshot_pages::require_usable() {
    origin_.require_here("a snapshot"); // a fork may have the lock for ever
    const std::lock_guard alone(mutex_);
    if (lost_) std::rethrow_exception(lost_);
    images_.require_usable();
}

bool snapshot_pages::has_lost_page() const {
    const std::lock_guard alone(mutex_);
    return lost_ != nullptr;
}

void snapshot_pages::give_back() {
    const std::lock_guard alone(mutex_);
    if (mprotect(range_.base(), bytes_, PROT_NONE) != 0)
        throw_file_error(memory_name, "take access to");
    filled_.clear();
    small_steps.fetch_sub(std::exchange(small_, 0), std::memory_order_relaxed);
    if (fallocate(memory_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(bytes_)) != 0)
        throw_file_error(memory_name, "give back");
}

void snapshot_pages::move_on() {
    const std::lock_guard alone(mutex_);
    const block_end to = images_.find_newest();
    images_.each_change_until(to, [&](std::uint64_t live, std::uint64_t bytes) {
        const std::uint64_t window = live / live_window_bytes_;
        const std::uint64_t within = live % live_window_bytes_;
        if (window >= range_.windows() || within >= range_.window_bytes()) return;
        const std::uint64_t offset = window * range_.window_bytes() + within;
        const std::uint64_t last =
            (offset + std::min(bytes, range_.window_bytes() - within) - 1) / page;
        for (std::uint64_t at = offset / page; at <= last; ++at)
            if (const auto found = filled_.find(at / pages_of_step); found != filled_.end())
                found->second |= static_cast<std::uint16_t>(1U << at % pages_of_step);
    });
    images_.move_to(to);
}

/// Many at once, since looking for new records costs as much as a few pages; not so many that a
/// writer that rolls back often always does so meanwhile.
void snapshot_pages::copy_again(bool all) {
    const std::lock_guard alone(mutex_);
    constexpr std::size_t most = 2 * small_step;
    struct run {
        std::uint64_t begin;
        std::span<std::byte> into;
    };
    std::vector<run> runs;
    std::size_t bytes = 0;
    piece_.resize(std::max<std::size_t>(piece_.size(), most));
    auto copy_all = [&] {
        for (const run& one : runs)
            copy(one.begin, one.into);
    };
    const auto finish = [&] {
        if (runs.empty()) return;
        images_.with_images([](void* with) { (*static_cast<decltype(copy_all)*>(with))(); },
                            &copy_all);
        for (const run& one : runs) {
            put_back(one.begin, one.into);
            write_at(memory_, memory_name, one.begin, one.into);
        }
        pages_ += bytes / page;
        pages_copied.add(bytes / page);
        runs.clear();
        bytes = 0;
    };
    for (auto& [step, changed] : filled_) {
        if (all) changed = UINT16_MAX;
        if (changed == 0) continue;
        if (most - bytes < small_step) finish();
        for (unsigned at = 0; at < pages_of_step;) {
            const auto left = static_cast<unsigned>(changed) >> at;
            if (left == 0) break;
            at += static_cast<unsigned>(std::countr_zero(left));
            const auto count =
                static_cast<unsigned>(std::countr_one(static_cast<unsigned>(changed) >> at));
            const std::size_t length = count * page;
            runs.push_back({step * small_step + at * page, {piece_.data() + bytes, length}});
            bytes += length;
            at += count;
        }
        changed = 0;
    }
    finish();
}

std::uint64_t snapshot_pages::page_bytes() const {
    const std::lock_guard alone(mutex_);
    return filled_.size() * small_step;
}

std::uint64_t snapshot_pages::bytes() const {
    origin_.require_here("a snapshot");
    const std::lock_guard alone(mutex_);
    return filled_.size() * small_step + images_.bytes();
}

std::uint64_t snapshot_pages::pages() const {
    origin_.require_here("a snapshot");
    const std::lock_guard alone(mutex_);
    return pages_;
}

std::uint64_t snapshot_pages::retries() const {
    origin_.require_here("a snapshot");
    const std::lock_guard alone(mutex_);
    return images_.retries();
}

// --- filling ---

/// Once some of a large step was touched, the rest is expected to be: a step costs more than to
/// copy it.
std::uint64_t snapshot_pages::step_at(std::uint64_t offset) const noexcept {
    if (are_many()) return large_step;
    constexpr std::uint64_t steps = large_step / small_step;
    const std::uint64_t first = offset / large_step * steps;
    std::uint64_t touched = 0;
    for (std::uint64_t at = first; at < first + steps; ++at)
        touched += filled_.contains(at) ? 1 : 0;
    return touched < steps / 8 ? small_step : large_step;
}

/// The live bytes.
void snapshot_pages::copy(std::uint64_t offset, std::span<std::byte> into) const {
    const std::size_t index = offset / range_.window_bytes();
    const auto file = files_.find(index);
    if (file == files_.end())
        throw damaged_error(std::string(memory_name) + ": a link leads to window " +
                            std::to_string(index) +
                            ", which no type has; run chainbase-inspect check");
    const std::size_t there =
        read_at(file->second, memory_name, offset % range_.window_bytes(), into);
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
}

/// In one window.
void snapshot_pages::put_back(std::uint64_t offset, std::span<std::byte> bytes) const noexcept {
    images_.put_back(offset / range_.window_bytes() * live_window_bytes_ +
                         offset % range_.window_bytes(),
                     bytes);
}

bool snapshot_pages::fill(std::uint64_t offset) {
    const std::lock_guard alone(mutex_);
    if (lost_) std::rethrow_exception(lost_); // at once: it would fail again, or be of no use
    if (filled_.contains(offset / small_step)) return false;
    std::uint64_t bytes = step_at(offset);
    piece_.resize(std::max<std::size_t>(piece_.size(), bytes));
    std::uint64_t begin = 0;
    std::span<std::byte> into;
    auto copy_it = [&, is_again = false]() mutable {
        // A writer that rolls back often always does so while much is copied.
        if (std::exchange(is_again, true) && !are_many()) bytes = small_step;
        begin = offset / bytes * bytes;
        into = {piece_.data(), bytes};
        copy(begin, into);
    };
    images_.with_images([](void* with) { (*static_cast<decltype(copy_it)*>(with))(); }, &copy_it);
    put_back(begin, into);
    write_at(memory_, memory_name, begin, into);
    if (mprotect(range_.base() + begin, into.size(), PROT_READ) != 0)
        throw_file_error(memory_name, "give access to");
    std::size_t filled = 0; // before, each as a small step
    for (std::uint64_t at = begin; at < begin + bytes; at += small_step)
        if (!filled_.emplace(at / small_step, 0).second) ++filled;
    pages_ += bytes / page - filled * pages_of_step;
    pages_copied.add(bytes / page);
    const std::size_t small = bytes == small_step ? 1 : 0;
    small_ += small - filled;
    small_steps.fetch_add(small - filled, std::memory_order_relaxed);
    return true;
}

bool snapshot_pages::lose(std::uint64_t offset, const std::exception_ptr& why) noexcept {
    if (!are_zeros_ || !is_here()) return false;
    const std::lock_guard alone(mutex_);
    const std::uint64_t begin = offset / small_step * small_step;
    if (mprotect(range_.base() + begin, small_step, PROT_READ) != 0) return false;
    if (!lost_) lost_ = why;
    return true;
}

// --- the handler ---

void snapshot_pages::install_handler() {
    struct sigaction ours{};
    ours.sa_sigaction = &snapshot_pages::handle;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER; // a guarded read is left by a jump
    const std::lock_guard alone(registry_mutex());
    struct sigaction found{};
    if (sigaction(SIGSEGV, nullptr, &found) == 0 && (found.sa_flags & SA_SIGINFO) != 0 &&
        found.sa_sigaction == ours.sa_sigaction)
        return;
    former = found;
    if (sigaction(SIGSEGV, &ours, nullptr) != 0) throw_file_error(memory_name, "handle faults of");
}

/// A page that is readable was filled by another thread meanwhile, or was stored to.
void snapshot_pages::handle(int signal, siginfo_t* about, void* context) {
    static thread_local constinit struct {
        const void* address = nullptr;
        unsigned times = 0;
    } last;
    const int kept = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(about->si_addr);
    snapshot_pages* const pages = at(address);
    if (!pages) {
        if (may_be_link(address)) leave_at_link();
        return pass_on(signal, about, context);
    }
    std::exception_ptr failure;
    try {
        pages->origin_.require_here("a snapshot");
        const auto base = reinterpret_cast<std::uintptr_t>(pages->range_.base());
        const bool is_new = pages->fill(address - base);
        last.times = is_new || last.address != about->si_addr ? 0 : last.times + 1;
        last.address = about->si_addr;
        errno = kept;
        if (last.times < 1'000) return;
    } catch (...) {
        failure = std::current_exception();
    }
    errno = kept;
    if (failure) { // not out of the catch block
        failed_reads.add();
        const auto base = reinterpret_cast<std::uintptr_t>(pages->range_.base());
        if (pages->lose(address - base, failure)) return;
        detail::leave_guarded_read(std::move(failure));
    }
    pass_on(signal, about, context);
}

/// A fork's own snapshots may be where its parent's were, which it does not have.
snapshot_pages* snapshot_pages::at(std::uintptr_t address) noexcept {
    snapshot_pages* of_parent = nullptr;
    for (const entry& one : registry) {
        const std::uintptr_t begin = one.begin.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address >= one.end.load(std::memory_order_relaxed))
            continue;
        snapshot_pages* const found = one.pages.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (!found || one.begin.load(std::memory_order_relaxed) != begin) continue; // another's now
        if (found->origin_.is_here()) return found;
        of_parent = found;
    }
    return of_parent;
}

/// Whether it is where a link in a snapshot can lead: links are numbers of 32 bits, of pages at
/// most.
bool snapshot_pages::may_be_link(std::uintptr_t address) noexcept {
    constexpr std::uint64_t farthest = page << 32;
    for (const entry& one : registry) {
        const std::uintptr_t begin = one.begin.load(std::memory_order_acquire);
        if (begin != 0 && address >= begin &&
            address - one.end.load(std::memory_order_relaxed) < farthest)
            return true;
    }
    return false;
}

/// A fork has entries of snapshots that it has not (MADV_DONTFORK), at addresses that are free in
/// it.
void snapshot_pages::enter() {
    const auto begin = reinterpret_cast<std::uintptr_t>(range_.base());
    const std::uintptr_t end = begin + bytes_;
    const std::lock_guard alone(registry_mutex());
    entry* free = nullptr;
    for (entry& one : registry) {
        if (one.begin.load(std::memory_order_relaxed) < end &&
            begin < one.end.load(std::memory_order_relaxed))
            one.begin.store(0, std::memory_order_release);
        if (!free && one.begin.load(std::memory_order_relaxed) == 0) free = &one;
    }
    if (!free)
        throw limit_error("more than " + std::to_string(most_snapshots) +
                          " snapshots are open in this process: close one first");
    free->pages.store(this, std::memory_order_relaxed);
    free->end.store(end, std::memory_order_relaxed);
    free->begin.store(begin, std::memory_order_release);
}

void snapshot_pages::leave() noexcept {
    const std::lock_guard alone(registry_mutex());
    for (entry& one : registry)
        if (one.pages.load(std::memory_order_relaxed) == this) {
            one.begin.store(0, std::memory_order_release);
            one.pages.store(nullptr, std::memory_order_relaxed);
        }
}

} // namespace chainbase
