#pragma once

#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <chainbase/offline/snapshot_file/manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {
class disk;
}

namespace chainbase::snapshot_file {

/// Where a snapshot is written to: chunks in any order, then the manifest.
class chunk_sink {
public:
    virtual ~chunk_sink() = default;

    /// Takes a chunk, proven to unpack to these rows. Returns how the manifest lists it. Throws
    /// damaged_error when it does not, io_error, out_of_space_error.
    virtual chunk_entry put(const piece& one) = 0;
    /// Takes the manifest; afterwards it is a whole snapshot, and nothing is put. Chunks that were
    /// put and are not in the manifest do no harm. Throws usage_error, saying what, when it is none
    /// that manifest::of() reads; io_error, out_of_space_error.
    virtual void finish(const manifest& all) = 0;

    struct figures {
        std::uint64_t written = 0;       ///< chunks
        std::uint64_t written_bytes = 0; ///< compressed
        std::uint64_t kept = 0; ///< were there: from an earlier call, another type, the base
    };
    [[nodiscard]] virtual figures so_far() const = 0;
};

/// A snapshot being written to a folder. After a kill or an exception before finish() the folder is
/// no snapshot, and the next writer in it goes on: chunks that are there and right are not written
/// again.
///
/// Beside manifest and chunks the folder has, until it is whole, files that end with `.new`, and
/// `lock`. It is a private_folder; who publishes it may give others access, since a reader trusts
/// nothing in it.
///
/// All calls but finish() are thread-safe.
class folder_writer final : public chunk_sink {
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
    /// name after finish(). After an exception it can be called again. Throws damaged_error also
    /// when what was read is not what was written.
    chunk_entry put(const piece& one) override;
    /// @name Chunks of a manifest that is known before them
    /// @{
    /// Whether a chunk is there and right, from an earlier call or in the base; it counts as put
    /// then. Reads all of it. Throws io_error.
    [[nodiscard]] bool keeps(const chunk_entry& one);
    /// As put(), of the bytes of its file. Requires that verified() accepted them for `one`, or
    /// that `one` is their entry_of().
    void put_file(const chunk_entry& one, archive::bytes_view file);
    /// @}
    /// Writes the manifest, and brings all to storage; removes files of an earlier call that this
    /// snapshot does not have. Throws usage_error also when the manifest has a chunk that is
    /// neither put nor in the base. After an exception it is no snapshot yet, and finish() can be
    /// called again.
    void finish(const manifest& all) override;
    [[nodiscard]] figures so_far() const override;

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
    /// With a manifest that is not in `folder`, which need not be there.
    folder_reader(std::filesystem::path folder, snapshot_file::manifest all,
                  std::vector<std::filesystem::path> others)
        : folder_(std::move(folder)), others_(std::move(others)), manifest_(std::move(all)) {}

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

/// What the file of a chunk is, when the manifest is not known yet: as it is listed at the lowest
/// node that has all its rows; has_same_rows() compares it with the manifest. Throws damaged_error
/// as verified().
[[nodiscard]] chunk_entry entry_of(archive::bytes_view file, const std::string& of);

/// How the manifest lists a piece.
[[nodiscard]] chunk_entry entry_of(const piece& one);
/// The bytes of its file, which were unpacked again and compared. Throws damaged_error naming `of`.
[[nodiscard]] archive::byte_buffer sound_file_of(const piece& one, const std::string& of);
/// The text of a manifest, which manifest::of() reads. Throws usage_error, saying what it lacks.
[[nodiscard]] std::string sound_text_of(const manifest& all, const std::string& of);

/// A chunk in messages: "account, ids 65536 to 131071".
[[nodiscard]] std::string name_of(const type_entry& type, const chunk_entry& one);

} // namespace chainbase::snapshot_file
