#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

/// What a row of the bench `large` runs under, and what it costs the disk.
namespace chainbase::bench {

/// What the device below a folder has read and written, by the kernel's count.
struct disk_count {
    std::uint64_t read = 0;
    std::uint64_t written = 0;

    /// Nothing where the kernel does not say on which device the folder is; zeros on tmpfs.
    [[nodiscard]] static std::optional<disk_count> below(const std::filesystem::path& folder);
};

/// The bytes of blocks that the files in a folder have, at any depth.
[[nodiscard]] std::uint64_t held_in_files(const std::filesystem::path& folder);

/// Memory that is taken away from everything else on the machine, or in the process's control group
/// where that leaves less; caches of files too. Given back by the destructor.
class taken_memory {
public:
    /// Leaves about `left` bytes available. In pieces, since what is available is an estimate that
    /// gets better the less there is. Throws limit_error.
    explicit taken_memory(std::uint64_t left);
    ~taken_memory();
    taken_memory(const taken_memory&) = delete;
    taken_memory& operator=(const taken_memory&) = delete;

    /// What the machine and the control group have for this process, with what caches hold.
    [[nodiscard]] static std::uint64_t available();

private:
    void take(std::uint64_t bytes);

    std::vector<std::pair<void*, std::uint64_t>> pieces_;
};

} // namespace chainbase::bench
