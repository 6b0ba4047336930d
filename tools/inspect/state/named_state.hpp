#pragma once

#include <chainbase/segment/segment_header.hpp>

#include <boost/describe.hpp>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::checkpoint {
class published;
}

/// Names of states on the command line, and parts of a state that can be read without mapping it.
namespace chainbase::inspect {

/// The segment folder of the state in the folder `state`. Throws format_error without a state,
/// unclean_error when its segment is gone or another's, access_error, damaged_error, io_error.
[[nodiscard]] std::filesystem::path segment_folder(const std::filesystem::path& state);

/// The header of the segment in `folder`. Throws damaged_error when it is incomplete, format_error
/// for another format, access_error, io_error.
[[nodiscard]] segment_header segment_header_in(const std::filesystem::path& folder);

/// Whether files in the segment's folder may be of different times: the machine restarted after
/// they were written without a sync.
[[nodiscard]] bool is_of_another_boot(const segment_header& header);

/// Whether the folder holds any part of a state.
[[nodiscard]] bool is_state(const std::filesystem::path& folder);

/// A checkpoint's header; its pages are not read.
struct checkpoint_info {
    std::uint64_t generation = 0;
    std::int64_t revision = 0;
    std::int64_t irreversible_revision = 0;
    std::int64_t time = 0;   ///< Unix seconds
    std::uint64_t bytes = 0; ///< of the files that a restore makes
    bool redo_log = false;   ///< later blocks are kept
};
BOOST_DESCRIBE_STRUCT(checkpoint_info, (),
                      (generation, revision, irreversible_revision, time, bytes, redo_log))

/// Newest first.
[[nodiscard]] std::vector<checkpoint_info> checkpoints_of(const checkpoint::published& all);

/// The readable checkpoints of the state in a folder, also beside its writer. Omits damaged ones:
/// `info` reports their faults.
[[nodiscard]] std::vector<checkpoint_info> checkpoints_now(const std::filesystem::path& state);

/// A private folder, removed with its content when the object or this process ends, however it
/// ends: a child process watches for that.
class temporary_folder {
public:
    /// Makes it in `parent`. Call it before starting threads. Throws io_error.
    explicit temporary_folder(const std::filesystem::path& parent);
    ~temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// A folder with space for `bytes`: TMPDIR if set, else memory (/dev/shm), else /tmp. Throws
    /// out_of_space_error naming the space of each.
    [[nodiscard]] static std::filesystem::path place_for(std::uint64_t bytes);

private:
    std::filesystem::path path_;
    int lifeline_ = -1; ///< closing it makes the child process remove the folder
    pid_t remover_ = -1;
};

/// A state's name on the command line:
///
///     STATE                          the folder of a state
///     STATE@checkpoint               its newest checkpoint
///     STATE@checkpoint:GENERATION    that one; `info` lists them
///
/// A checkpoint is restored to a temporary folder as a closed state, without the blocks of the redo
/// log, for the lifetime of this object. Nothing in STATE changes; its writer may continue. An
/// existing folder of that name takes precedence.
class named_state {
public:
    /// Throws usage_error, listing the checkpoints, for one that does not exist; damaged_error;
    /// out_of_space_error; and what restoring throws.
    explicit named_state(const std::string& name);

    /// The folder to read.
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    /// The folder of the state, or of the checkpoint's state, with its archive.
    [[nodiscard]] const std::filesystem::path& origin() const noexcept { return origin_; }
    [[nodiscard]] bool is_checkpoint() const noexcept { return restored_ != nullptr; }

    /// The state folder in the checkpoint name `name`; nothing for a folder's own name. Throws
    /// usage_error for an invalid generation.
    [[nodiscard]] static std::optional<std::string> state_of(const std::string& name);
    /// The name of a checkpoint of `state`.
    [[nodiscard]] static std::string name_of(const std::filesystem::path& state,
                                             std::uint64_t generation);

private:
    void restore(std::optional<std::uint64_t> generation);

    std::filesystem::path origin_;
    std::filesystem::path folder_;
    std::unique_ptr<temporary_folder> restored_;
};

} // namespace chainbase::inspect
