#pragma once

#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <chainbase/offline/snapshot_file/manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase {
class disk;
}

namespace chainbase::snapshot_file {

/// A snapshot being written: chunks in any order, then the manifest. After a kill or an exception
/// before that the folder is no snapshot, and the next writer in it goes on: chunks that are there
/// and right are not written again.
///
/// Beside manifest and chunks the folder has, until it is whole, files that end with `.new`, and
/// `lock`. It is a private_folder; who publishes it may give others access, since a reader trusts
/// nothing in it.
///
/// All calls but finish() are thread-safe.
class folder_writer {
public:
    /// Makes `folder` if it is not there. With `base`, chunks of that whole snapshot whose files
    /// lie in it are not written here: it has to be at hand to read this one. `on`: another disk
    /// than the system's, for tests. Throws usage_error when a whole snapshot is in `folder`, or
    /// something else (nothing in it is touched), locked_error while another process writes it;
    /// io_error, access_error, and what folder_reader throws about `base`.
    explicit folder_writer(std::filesystem::path folder,
                           const std::optional<std::filesystem::path>& base = std::nullopt,
                           disk* on = nullptr);

    /// Writes a chunk, reads it back and compares. Its content is on storage when it returns, its
    /// name after finish(). Returns how the manifest lists it. After an exception it can be called
    /// again. Throws io_error, out_of_space_error, damaged_error when what was read is not what was
    /// written.
    chunk_entry put(const piece& one);
    /// @name Chunks of a manifest that is known before them
    /// @{
    /// Whether a chunk is there and right, from an earlier call or in the base; it counts as put
    /// then. Reads all of it. Throws io_error.
    [[nodiscard]] bool keeps(const chunk_entry& one);
    /// As put(), of the bytes of its file. Requires that verified() accepted them for `one`.
    void put_file(const chunk_entry& one, archive::bytes_view file);
    /// @}
    /// Writes the manifest, and brings all to storage; removes files of an earlier call that this
    /// snapshot does not have. Nothing is put afterwards. Throws usage_error, saying what, when the
    /// manifest is none that manifest::of() reads, or has a chunk that is neither put nor in the
    /// base; io_error, out_of_space_error: then it is no snapshot yet, and finish() can be called
    /// again.
    void finish(const manifest& all);

    struct figures {
        std::uint64_t written = 0;       ///< chunks
        std::uint64_t written_bytes = 0; ///< compressed
        std::uint64_t kept = 0; ///< were there: from an earlier call, another type, the base
    };
    [[nodiscard]] figures so_far() const;

private:
    struct work;
    std::shared_ptr<work> work_;
};

/// A whole snapshot that is read. Thread-safe.
class folder_reader {
public:
    /// Chunks that are not in `folder` are looked for in `others`, in their order. Whose the files
    /// are and who may change them is not looked at. Throws io_error, and what manifest::of throws;
    /// usage_error when there is no whole snapshot.
    explicit folder_reader(std::filesystem::path folder,
                           std::vector<std::filesystem::path> others = {});

    [[nodiscard]] const snapshot_file::manifest& manifest() const noexcept { return manifest_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

    /// The content of a chunk, verified: its digest, its rows, and its root. Throws io_error when
    /// no folder has it or it cannot be read, damaged_error; both name type, ids and file.
    [[nodiscard]] archive::byte_buffer content(const type_entry& of, const chunk_entry& one) const;
    /// The file of a chunk; nothing: it is nowhere.
    [[nodiscard]] std::optional<std::filesystem::path> file_of(const chunk_entry& one) const;

private:
    std::filesystem::path folder_;
    std::vector<std::filesystem::path> others_;
    snapshot_file::manifest manifest_;
};

/// Takes its manifest from a whole snapshot, of which something is damaged: a folder_writer goes on
/// with it, and writes again what is not right. Throws io_error.
void make_unfinished(const std::filesystem::path& folder);

/// Verifies a chunk that came from anywhere: `file` are the bytes of its file. Returns its content.
/// Throws damaged_error naming `of` and what differs.
[[nodiscard]] archive::byte_buffer verified(archive::bytes_view file, const chunk_entry& one,
                                            const std::string& of);

/// A chunk in messages: "account, ids 65536 to 131071".
[[nodiscard]] std::string name_of(const type_entry& type, const chunk_entry& one);

} // namespace chainbase::snapshot_file
