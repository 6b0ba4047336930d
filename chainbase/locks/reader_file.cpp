#include <chainbase/locks/lock_protocol.hpp>
#include <chainbase/locks/reader_file.hpp>
#include <pool_allocator/base/boot_id.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/ofd_lock.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <string>

namespace chainbase::detail {

void sleep_on(const std::uint32_t& word, std::uint32_t seen,
              std::chrono::nanoseconds most) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
    const timespec relative{seconds.count(), (most - seconds).count()};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &relative, nullptr, 0);
}

void wake_on(const std::uint32_t& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace chainbase::detail

namespace chainbase {

namespace {

constexpr char magic[16] = "chainbase turns";
constexpr std::size_t page = reader_file::header_bytes;
constexpr std::size_t mapped_bytes = page + reader_file::max_slots * sizeof(reader_slot);
/// The least length of a file: it grows by pages.
constexpr std::uint32_t first_slots = page / sizeof(reader_slot);

constexpr std::size_t end_of(std::uint32_t n) noexcept {
    return page + (std::size_t{n} + 1) * sizeof(reader_slot);
}

ofd_lock::range bytes_of(std::uint32_t n) {
    return {end_of(n) - sizeof(reader_slot), sizeof(reader_slot)};
}

/// The bytes of the header page, locked while the file is prepared.
class header_lock {
public:
    explicit header_lock(int descriptor, const std::filesystem::path& file)
        : descriptor_(descriptor) {
        if (!ofd_lock::await(descriptor_, ofd_lock::kind::exclusive, {0, page}))
            throw_file_error(file, "lock");
    }
    ~header_lock() { ofd_lock::release(descriptor_, {0, page}); }
    header_lock(const header_lock&) = delete;
    header_lock& operator=(const header_lock&) = delete;

private:
    int descriptor_;
};

reader_header read_header(const file_descriptor& descriptor, const std::filesystem::path& file) {
    reader_header found{};
    (void)read_at(descriptor, file, 0, std::as_writable_bytes(std::span(&found, 1)));
    return found;
}

/// A reader or writer from before the machine's restart is gone.
reader_header fresh_header(const reader_header& before, const std::string& boot) {
    reader_header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.format = reader_header::current_format;
    header.segment = before.segment + 1;
    std::memcpy(header.boot, boot.data(), std::min(boot.size(), sizeof header.boot - 1));
    return header;
}

bool is_of_boot(const reader_header& header, const std::string& boot) {
    return std::string(header.boot, strnlen(header.boot, sizeof header.boot)) == boot;
}

/// A creation interrupted by a kill leaves zeros.
bool is_in_the_making(const reader_header& header) {
    return std::all_of(header.magic, header.magic + sizeof header.magic,
                       [](char c) { return c == 0; });
}

void require_ours(const reader_header& header, const std::filesystem::path& file) {
    const std::string advice = "; stop every process that has the state open, then remove the file";
    if (std::memcmp(header.magic, magic, sizeof magic) != 0)
        throw damaged_error(file.string() +
                            ": offset 0: not the readers file of a chainbase state" + advice);
    if (header.format != reader_header::current_format)
        throw format_error(file.string() + ": format " + std::to_string(header.format) +
                           ", this program has " + std::to_string(reader_header::current_format) +
                           advice);
}

/// The owner's processes create the file; every process that may read the state writes to it.
file_descriptor open_readers(const std::filesystem::path& file, reader_file::mode how) {
    const private_folder folder(file.parent_path(), /*writing=*/false);
    if (how == reader_file::mode::look)
        return folder.open(file.filename(), file_use::read, group_access::write);
    try {
        return folder.open(file.filename(), folder.is_ours() ? file_use::obtain : file_use::share,
                           group_access::write);
    } catch (const io_error& e) {
        throw io_error(std::string(e.what()) +
                       ". Readers take turns with the writer through this file: open the state "
                       "for writing once, which makes it, or, if no process writes the state, "
                       "read with allow_unclean");
    }
}

} // namespace

reader_file::reader_file(const std::filesystem::path& file, mode how)
    : path_(file), descriptor_(open_readers(file, how)) {
    if (how == mode::take_part) prepare();
    map(how);
}

bool reader_file::is_unfinished(const std::filesystem::path& file) {
    const file_descriptor opened = open_readers(file, mode::look);
    const reader_header found = read_header(opened, file);
    struct stat status{};
    if (fstat(opened.number(), &status) != 0) throw_file_error(file, "examine");
    if (is_in_the_making(found)) return true;
    if (static_cast<std::size_t>(status.st_size) >= end_of(first_slots - 1)) return false;
    require_ours(found, file);
    return true;
}

reader_file::~reader_file() {
    if (base_) munmap(base_, mapped_bytes);
}

/// Content from before the last restart belongs to nobody any more, and its pages may be of
/// different times.
void reader_file::prepare() {
    const std::string boot = boot_id();
    const header_lock alone(descriptor_.number(), path_);
    const reader_header found = read_header(descriptor_, path_);
    if (!is_in_the_making(found)) require_ours(found, path_);
    grow_for(0);
    if (is_of_boot(found, boot)) return;
    const reader_header fresh = fresh_header(found, boot);
    write_at(descriptor_, path_, 0, std::as_bytes(std::span(&fresh, 1)));
}

void reader_file::map(mode how) {
    struct stat status{};
    if (fstat(descriptor_.number(), &status) != 0) throw_file_error(path_, "examine");
    if (static_cast<std::size_t>(status.st_size) < end_of(first_slots - 1))
        throw damaged_error(path_.string() + ": truncated to " + std::to_string(status.st_size) +
                            " bytes; stop every process that has the state open, then remove it");
    const int access = how == mode::take_part ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = mmap(nullptr, mapped_bytes, access, MAP_SHARED, descriptor_.number(), 0);
    if (at == MAP_FAILED) throw_file_error(path_, "map");
    base_ = static_cast<std::byte*>(at);
    if (how == mode::look) require_ours(header(), path_);
}

std::uint32_t reader_file::slots_in_file() const noexcept {
    struct stat status{};
    if (fstat(descriptor_.number(), &status) != 0) return 0;
    const auto bytes = static_cast<std::size_t>(std::max<off_t>(status.st_size, page));
    return static_cast<std::uint32_t>(
        std::min<std::size_t>((bytes - page) / sizeof(reader_slot), max_slots));
}

/// Claiming extends the file first, and nobody shortens it, so a larger count can only come from
/// foreign writes.
std::uint32_t reader_file::slots() const noexcept {
    const std::uint32_t said = std::atomic_ref(header().slots).load();
    if (said <= slots_known_.load(std::memory_order_relaxed)) return said;
    slots_known_.store(slots_in_file(), std::memory_order_relaxed);
    return std::min(said, slots_known_.load(std::memory_order_relaxed));
}

/// Never shortens it: others may have extended it at the same time.
void reader_file::grow_for(std::uint32_t n) const {
    const std::size_t bytes = (end_of(n) + page - 1) / page * page;
    require_file_limit(path_, bytes);
    int reason = 0;
    do
        reason = posix_fallocate(descriptor_.number(), 0, static_cast<off_t>(bytes));
    while (reason == EINTR);
    if (reason == 0) return;
    errno = reason;
    throw_file_error(path_, "grow");
}

bool reader_file::lock_bytes(std::uint32_t n) const noexcept {
    return ofd_lock::take(descriptor_.number(), ofd_lock::kind::exclusive, bytes_of(n));
}

void reader_file::clear(std::uint32_t n) const noexcept {
    reader_slot& free = slot(n);
    std::atomic_ref(free.process).store(0);
    std::atomic_ref(free.snapshot).store(0);
    std::atomic_ref(free.word).store(static_cast<std::uint32_t>(detail::turn::idle));
    detail::wake_on(free.word);
}

bool reader_file::claim(std::uint32_t n) {
    if (!lock_bytes(n)) {
        if (errno == EAGAIN || errno == EACCES) return false;
        throw_file_error(path_, "lock");
    }
    try {
        if (n >= slots_in_file()) grow_for(n);
    } catch (...) {
        give_up(n);
        throw;
    }
    clear(n);
    // Before the slot is used: the writer reads only slots below `slots`.
    const std::atomic_ref slots(header().slots);
    for (std::uint32_t known = slots.load(); known <= n;)
        if (slots.compare_exchange_weak(known, n + 1)) break;
    return true;
}

/// Others may read it at the same time; a half-written name is only displayed.
void reader_file::introduce(std::uint32_t n) noexcept {
    reader_slot& own = slot(n);
    const char* const name = program_invocation_short_name;
    std::memset(own.name, 0, sizeof own.name);
    std::memcpy(own.name, name, strnlen(name, sizeof own.name - 1));
    std::atomic_ref(own.process).store(static_cast<std::uint32_t>(getpid()));
}

void reader_file::give_up(std::uint32_t n) noexcept {
    ofd_lock::release(descriptor_.number(), bytes_of(n));
}

bool reader_file::is_held(std::uint32_t n) const noexcept {
    return ofd_lock::conflicting_lock(descriptor_.number(), ofd_lock::kind::shared, bytes_of(n)) !=
           ofd_lock::kind::none; // also when the kernel cannot tell
}

bool reader_file::reclaim_if_dead(std::uint32_t n) noexcept {
    if (!lock_bytes(n)) return false;
    clear(n); // while nobody can claim it
    give_up(n);
    return true;
}

/// Only the holder of a slot's lock claims it and raises `slots` for it.
void reader_file::drop_free_end() noexcept {
    const std::atomic_ref slots(header().slots);
    for (std::uint32_t end = this->slots(); end != 0; end = this->slots()) {
        if (!lock_bytes(end - 1)) return;
        clear(end - 1);
        std::uint32_t expected = end; // receives the actual value on failure
        const bool dropped = slots.compare_exchange_strong(expected, end - 1);
        give_up(end - 1);
        if (!dropped) return; // by another process, or a slot was claimed
    }
}

std::uint64_t reader_file::now() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

double reader_file::age(std::uint64_t& since) noexcept {
    const std::uint64_t then = std::atomic_ref(since).load(std::memory_order_relaxed);
    const std::uint64_t now = reader_file::now();
    return static_cast<double>(now - std::min(now, then)) / 1e9;
}

std::string reader_file::name_in(const reader_slot& slot) {
    std::string name(slot.name, strnlen(slot.name, sizeof slot.name));
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isprint(c) == 0; }, '?');
    return name;
}

} // namespace chainbase
