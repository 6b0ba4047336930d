#include <chainbase/segment/log_witness.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <undo/undo_log.hpp>

#include <boost/container_hash/hash.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <new>
#include <span>

namespace chainbase {

namespace {

constexpr std::size_t table_bytes = std::size_t{64} << 10;

std::uint64_t hash_of(const file_identity& file) noexcept {
    std::size_t hash = 0;
    boost::hash_combine(hash, file.device);
    boost::hash_combine(hash, file.inode);
    boost::hash_combine(hash, file.born);
    return hash != 0 ? hash : 1;
}

/// Opens this user's file after checking it: other users may write to the folder and may have put
/// something else there.
file_descriptor open_table(bool makes_it) noexcept {
    std::array<char, 64> name{}; // allocates nothing: memory may be short
    fmt::format_to_n(name.data(), name.size() - 1, "/dev/shm/chainbase-logs-{}", ::geteuid());
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (makes_it ? O_CREAT : 0);
    file_descriptor opened(::open(name.data(), flags, 0600));
    struct stat found{};
    const bool is_ours = opened.number() >= 0 && ::fstat(opened.number(), &found) == 0 &&
                         S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
                         (found.st_mode & 0077) == 0;
    if (!is_ours) return file_descriptor(-1);
    return opened;
}

/// If the kernel refuses to map it, there is no table.
class table {
public:
    explicit table(bool makes_it) noexcept {
        const file_descriptor file = open_table(makes_it);
        if (file.number() < 0) return;
        // Allocates all of it now: without memory a later store would end the process.
        if (makes_it && ::posix_fallocate(file.number(), 0, table_bytes) != 0) return;
        struct stat found{};
        if (::fstat(file.number(), &found) != 0 || found.st_size < off_t{table_bytes}) return;
        void* const at =
            ::mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
        if (at != MAP_FAILED)
            notes_ = {static_cast<sequence_note*>(at), table_bytes / sizeof(sequence_note)};
    }
    table(const table&) = delete;
    table& operator=(const table&) = delete;
    ~table() {
        if (!notes_.empty()) ::munmap(notes_.data(), table_bytes);
    }

    [[nodiscard]] sequence_note* find(std::uint64_t segment) const noexcept {
        const auto found = std::ranges::find_if(
            notes_, [&](const sequence_note& one) { return one.owner.load() == segment; });
        return found != notes_.end() ? &*found : nullptr;
    }
    /// The segment's entry, a free one, or that of some other segment; null without a table.
    [[nodiscard]] sequence_note* obtain(std::uint64_t segment) const noexcept {
        if (notes_.empty()) return nullptr;
        if (sequence_note* const own = find(segment)) return own;
        for (sequence_note& one : notes_) {
            std::uint64_t free = 0;
            if (one.owner.compare_exchange_strong(free, segment)) return &one;
        }
        sequence_note& other = notes_[segment % notes_.size()];
        other.sequence.store(0);
        other.owner.store(segment);
        return &other;
    }

private:
    std::span<sequence_note> notes_;
};

} // namespace

namespace log_witness {

void remember(undo_log& log, const file_identity& of) noexcept {
    // Never destroyed: logs may outlive static objects.
    static const table* const all = new (std::nothrow) table(/*makes_it=*/true);
    const std::uint64_t segment = hash_of(of);
    if (sequence_note* const note = all ? all->obtain(segment) : nullptr)
        log.set_sequence_note(*note, segment);
}

void close(const file_identity& of) noexcept {
    const table all(/*makes_it=*/false);
    if (sequence_note* const found = all.find(hash_of(of)))
        found->sequence.store(std::numeric_limits<std::uint64_t>::max());
}

void forget(const file_identity& of) noexcept {
    const table all(/*makes_it=*/false);
    std::uint64_t segment = hash_of(of);
    sequence_note* const found = all.find(segment);
    if (!found) return;
    found->sequence.store(0); // its next owner starts from zero
    found->owner.compare_exchange_strong(segment, 0);
}

std::uint64_t sequence_of(const file_identity& of) noexcept {
    const table all(/*makes_it=*/false);
    const sequence_note* const found = all.find(hash_of(of));
    return found ? found->sequence.load() : 0;
}

} // namespace log_witness

} // namespace chainbase
