#pragma once

#include <chainbase/offline/snapshot_file/folder.hpp>
#include <tools/driver/sync/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase {
class disk_file;
}

namespace chainbase::driver {

/// A file of a snapshot on its way to a client: looked through for damage first, then sent part by
/// part. Holds the file open, and no content of it.
class outgoing_file {
public:
    /// `expected`: XXH3-64 of the bytes from `summed_from` on.
    outgoing_file(std::shared_ptr<const disk_file> from, std::uint64_t summed_from,
                  std::uint64_t expected);
    ~outgoing_file();
    outgoing_file(const outgoing_file&) = delete;
    outgoing_file& operator=(const outgoing_file&) = delete;

    enum class look { has_more, sound, damaged };
    /// Reads on, some megabytes at most. Call it until it says `sound` or `damaged`. Throws
    /// io_error.
    [[nodiscard]] look look_on();

    /// The next part. Throws io_error, damaged_error when the file became shorter.
    [[nodiscard]] bytes next_frame();
    [[nodiscard]] bool is_sent() const noexcept { return sent_ == bytes_; }

private:
    struct running_sum;

    std::shared_ptr<const disk_file> from_;
    std::uint64_t bytes_;
    std::uint64_t looked_at_;
    std::uint64_t expected_;
    std::unique_ptr<running_sum> sum_;
    std::uint64_t sent_ = 0;
};

/// A whole snapshot that a server offers. Chunks are read from disk when a client asks for them.
///
/// Immutable; safe to use from any thread.
class served_snapshot {
public:
    /// `chain`: the one that it must be of. `bases`: folders with the chunks that it shares. Throws
    /// what folder_reader throws; usage_error when it is of another chain, or lacks a file.
    explicit served_snapshot(const std::filesystem::path& folder,
                             const std::optional<std::string>& chain = {},
                             const std::vector<std::filesystem::path>& bases = {});

    [[nodiscard]] const snapshot_file::manifest& manifest() const noexcept {
        return from_.manifest();
    }
    /// A chunk by its digest, or the manifest (zeros); nothing when there is none, or none that
    /// can be one. Throws io_error.
    [[nodiscard]] std::unique_ptr<outgoing_file> open(const sha256_digest& digest) const;

private:
    snapshot_file::folder_reader from_;
    std::shared_ptr<const disk_file> manifest_file_;
    std::uint64_t manifest_sum_ = 0;
    std::map<sha256_digest, const snapshot_file::chunk_entry*> chunks_;
};

} // namespace chainbase::driver
