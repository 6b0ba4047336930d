#pragma once

#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/resource_limits.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Warns about settings of this machine that endanger or slow a state, when it is opened for
/// writing.
///
/// Three steps, so that the advice can be tested without such a machine: facts_of() reads, advise()
/// judges without side effects, tell() logs. Thread-safety: no state, any thread.
///
/// Invariants:
///  1. Nothing is logged when nothing is wrong; else one line per problem, with the value found,
///     what it costs, and the command that changes it.
///  2. A fact that cannot be read is unknown, and unknown facts cause no advice.
///  3. Nothing is changed, and opening neither fails nor waits because of it.
namespace chainbase::doctor {

/// The state that is opened, and how.
struct subject {
    std::filesystem::path state;
    std::filesystem::path segment; ///< its folder, or the one in which it will be created
    bool is_made = false;          ///< the segment will be created or restored
    std::size_t window_bytes = 0;
    std::size_t windows = 0;
    bool makes_checkpoints = false;   ///< into the state's folder
    std::uint64_t expected_bytes = 0; ///< of a segment that is made, if it is known
};

/// A line of /proc/self/mountinfo.
struct mount {
    std::filesystem::path point;
    std::string type;
    std::string huge = "never"; ///< the option of tmpfs

    [[nodiscard]] bool is_memory() const { return is_memory_type(type); }
};

/// The facts found. Sizes in bytes; nothing where a fact could not be read.
struct facts {
    subject of;
    mount state_mount;
    mount segment_mount;
    std::uint64_t segment_bytes = 0;                   ///< that its files take now
    std::uint64_t checkpoint_bytes = 0;                ///< that both checkpoints take
    std::optional<std::uint64_t> restored_bytes;       ///< of a segment made of the newest one
    std::size_t segment_files = 0;                     ///< each is open all the time
    std::optional<std::uint64_t> free_bytes;           ///< of the segment's mount, for this user
    std::uint64_t mount_bytes = 0;                     ///< the size of that mount
    std::optional<std::uint64_t> free_for_checkpoints; ///< of the state's mount, for this user
    std::optional<std::uint64_t> free_memory;          ///< of the machine, swap included
    std::optional<std::uint64_t> commit_limit; ///< only where memory is not overcommitted (2)
    std::uint64_t committed = 0;
    std::optional<std::uint64_t> address_limit; ///< RLIMIT_AS
    std::uint64_t addresses = 0;                ///< that this process has reserved
    std::optional<std::uint64_t> file_limit;    ///< RLIMIT_NOFILE
    std::optional<resource_limits::memory_room> cgroup;
    bool can_collapse = true;  ///< the kernel has MADV_COLLAPSE
    std::string shmem_enabled; ///< of transparent huge pages: the word in brackets
    std::string huge_enabled;
    /// Folders above the state or its segment in which everybody may rename everything.
    std::vector<std::filesystem::path> open_folders;
};

enum class severity {
    info, ///< it costs time
    warn, ///< it will cost the state, or the node will stop
};

struct advice {
    severity how;
    std::string text; ///< one line
};

/// Reads the facts for `of`, a state whose folder exists. `root` is prefixed to the names of the
/// kernel's files and of mount points. Throws only bad_alloc and filesystem_error.
[[nodiscard]] facts facts_of(const subject& of, const std::filesystem::path& root = "/");

/// The advice about `found`, the most severe first.
[[nodiscard]] std::vector<advice> advise(const facts& found);

/// Why a segment should not be in the memory of `found`, whose `of.segment` is a folder there;
/// empty if it fits: in the file system, the machine and the control groups is room for what the
/// newest checkpoint restores or what is expected, and for a quarter more, 256 MiB at least.
[[nodiscard]] std::string why_not_in_memory(const facts& found);

/// A wish for the place of new segments.
struct preference {
    std::filesystem::path memory; ///< that of CHAINBASE_MEMORY_FOLDER, or /dev/shm; "none" is empty
    std::string why_not; ///< why the state folder whatever the room; empty: nothing says so
};
/// The preference of this process for a state in that folder.
[[nodiscard]] preference preferred_place(const std::filesystem::path& state);
/// Why a state that is opened so has its segment on the disk.
inline constexpr const char* without_checkpoints =
    "without checkpoints (durability::process) a restart would take all of it";

/// Logs the advice about a state through spdlog. Throws as facts_of does.
void tell(const subject& of);

} // namespace chainbase::doctor
