#pragma once

#include <chainbase/offline/snapshot_file/folder.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace chainbase::inspect {

/// The word on a command line, and its name in messages.
inline constexpr const char* stream_word = "-";
inline constexpr const char* stdin_name = "/dev/stdin";

/// A snapshot being written to stdout, as a tar stream (ustar) whose entries are the files of its
/// folder: chunks as they are put, the manifest last. Holds one chunk in memory. Destroyed before
/// finish(), it leaves a stream without an end and without a manifest. Not thread-safe.
///
/// All calls throw io_error when stdout takes no more, interrupted_error after a signal.
class tar_writer final : public snapshot_file::chunk_sink {
public:
    /// Chunks whose files lie in the whole snapshot `base` are not written. Throws usage_error when
    /// stdout is a terminal, and what folder_reader throws about `base`.
    explicit tar_writer(const std::optional<std::filesystem::path>& base);
    ~tar_writer() override;
    tar_writer(const tar_writer&) = delete;
    tar_writer& operator=(const tar_writer&) = delete;

    snapshot_file::chunk_entry put(const snapshot_file::piece& one) override;
    void finish(const snapshot_file::manifest& all) override;
    [[nodiscard]] figures so_far() const override { return done_; }

private:
    struct stream;

    void add(const std::string& name, archive::bytes_view content);

    std::optional<snapshot_file::folder_reader> base_;
    std::set<sha256_digest> put_;
    figures done_;
    std::unique_ptr<stream> to_;
};

/// A chunk in a stream.
struct tar_chunk {
    sha256_digest digest{};   ///< of its content, as its name says
    archive::bytes_view file; ///< valid during the call that has it
    std::string name;         ///< in messages: with its offset in the stream

    /// As snapshot_file::entry_of; damaged_error also when its digest is another one.
    [[nodiscard]] snapshot_file::chunk_entry proven() const;
};

/// Reads a snapshot from stdin: what tar_writer wrote, or `tar -c chunks manifest` in a folder.
/// Calls visit(chunk) for each chunk, in their order, also for those that the manifest will not
/// have. Returns the manifest, which is the last file. Memory: one file, as far as it came.
///
/// Throws damaged_error, naming the offset in the stream, when it is cut, goes on behind its end or
/// between two files, or has anything that is not of a snapshot, a chunk twice, or more chunks than
/// four million; usage_error when stdin is a terminal; io_error, interrupted_error; what `visit`
/// and manifest::of throw.
[[nodiscard]] snapshot_file::manifest read_tar(const std::function<void(const tar_chunk&)>& visit);

} // namespace chainbase::inspect
