#pragma once

#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <chainbase/offline/snapshot_file/manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace chainbase::snapshot_file {

/// A snapshot being written: chunks in any order, then the manifest. Killed before that, the folder
/// is no snapshot, and the next one in it goes on: chunks that are there and right are not written
/// again.
///
/// put() is thread-safe.
class folder_writer {
public:
    /// Makes `folder` if it is not there. With `base`, chunks that this whole snapshot has are not
    /// written here: it has to be at hand to read this one. Throws usage_error when a whole
    /// snapshot is in `folder`, or something else, io_error, what folder_reader throws about
    /// `base`.
    explicit folder_writer(std::filesystem::path folder,
                           const std::optional<std::filesystem::path>& base = std::nullopt);

    /// Writes a chunk, durably at the latest with finish(), reads it back and compares. Returns how
    /// the manifest lists it. Throws io_error, out_of_space_error, damaged_error when what was read
    /// is not what was written.
    chunk_entry put(const piece& one);
    /// Writes the manifest, and brings all to storage. Removes chunks that an earlier call left and
    /// that this snapshot does not have. Throws io_error, out_of_space_error.
    void finish(const manifest& all);

    struct figures {
        std::uint64_t written = 0;       ///< chunks
        std::uint64_t written_bytes = 0; ///< compressed
        std::uint64_t kept = 0;          ///< were there, from an earlier call or the base
    };
    [[nodiscard]] figures so_far() const;

private:
    struct work;
    std::shared_ptr<work> work_;
};

/// A whole snapshot that is read. Thread-safe.
class folder_reader {
public:
    /// Chunks that are not in `folder` are looked for in `others`. Throws io_error, and what
    /// manifest::of throws; usage_error when there is no whole snapshot.
    explicit folder_reader(std::filesystem::path folder,
                           std::vector<std::filesystem::path> others = {});

    [[nodiscard]] const snapshot_file::manifest& manifest() const noexcept { return manifest_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

    /// The content of a chunk, verified: its digest, its rows, and its root. Throws io_error when
    /// no folder has it, damaged_error; both name type, ids and file.
    [[nodiscard]] archive::byte_buffer content(const type_entry& of, const chunk_entry& one) const;
    /// The file of a chunk; nothing: it is nowhere.
    [[nodiscard]] std::optional<std::filesystem::path> file_of(const chunk_entry& one) const;

private:
    std::filesystem::path folder_;
    std::vector<std::filesystem::path> others_;
    snapshot_file::manifest manifest_;
};

/// Verifies a chunk that came from anywhere: `file` are the bytes of its file. Returns its content.
/// Throws damaged_error naming `of` and what differs.
[[nodiscard]] archive::byte_buffer verified(archive::bytes_view file, const chunk_entry& one,
                                            const std::string& of);

/// A chunk in messages: "account, ids 65536 to 131071".
[[nodiscard]] std::string name_of(const type_entry& type, const chunk_entry& one);

} // namespace chainbase::snapshot_file
