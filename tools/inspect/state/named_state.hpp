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

/// The names of states on the command line, and what can be read of a state without mapping it.
namespace chainbase::inspect {

/// The folder of the segment of the state in the folder `state`, which has one. Throws format_error
/// when no state is there, unclean_error when its segment is gone or another's, access_error,
/// damaged_error, io_error.
[[nodiscard]] std::filesystem::path segment_folder(const std::filesystem::path& state);

/// The header of the segment in `folder`. Throws damaged_error when it is not whole, format_error
/// when it is another format's, access_error, io_error.
[[nodiscard]] segment_header segment_header_in(const std::filesystem::path& folder);

/// Whether files in the segment's folder may be of different times: the machine restarted since
/// they were written, without having been on storage.
[[nodiscard]] bool is_of_another_boot(const segment_header& header);

/// Whether anything of a state is in the folder.
[[nodiscard]] bool is_state(const std::filesystem::path& folder);

/// A checkpoint as it says of itself; its pages are not read.
struct checkpoint_info {
    std::uint64_t generation = 0;
    std::int64_t revision = 0;
    std::int64_t irreversible_revision = 0;
    std::int64_t time = 0;   ///< Unix seconds
    std::uint64_t bytes = 0; ///< of the files that a restore makes
    bool redo_log = false;   ///< blocks after it are kept
};
BOOST_DESCRIBE_STRUCT(checkpoint_info, (),
                      (generation, revision, irreversible_revision, time, bytes, redo_log))

/// The newest first.
[[nodiscard]] std::vector<checkpoint_info> checkpoints_of(const checkpoint::published& all);

/// Those of the state in a folder, as far as they can be read at this moment, also beside its
/// writer. What is damaged is left out: `info` says what is wrong with it.
[[nodiscard]] std::vector<checkpoint_info> checkpoints_now(const std::filesystem::path& state);

/// A private folder that is removed with what is in it when the object goes, or this process ends,
/// however it does: a process of its own waits for that.
class temporary_folder {
public:
    /// In `parent`. To be made before threads are. Throws io_error.
    explicit temporary_folder(const std::filesystem::path& parent);
    ~temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// Where `bytes` find room: in TMPDIR if that is set, else in memory (/dev/shm), else in /tmp.
    /// Throws out_of_space_error, which says how much each of them has.
    [[nodiscard]] static std::filesystem::path place_for(std::uint64_t bytes);

private:
    std::filesystem::path path_;
    int leash_ = -1; ///< closed: the other process removes the folder, if it is there
    pid_t remover_ = -1;
};

/// A state as the command line names it:
///
///     STATE                          the folder of a state
///     STATE@checkpoint               its newest checkpoint
///     STATE@checkpoint:GENERATION    that one; `info` lists them
///
/// A checkpoint is put into a temporary folder, as a state that is closed, without the blocks of
/// the redo log, and is there as long as this object. Nothing in STATE changes; its writer may go
/// on. A folder that is called so is itself, and no checkpoint.
class named_state {
public:
    /// Throws usage_error for a checkpoint that there is not, which lists those there are;
    /// damaged_error; out_of_space_error; and what restoring does.
    explicit named_state(const std::string& name);

    /// What to look at.
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    /// The folder of the state that it is, or was, with its archive.
    [[nodiscard]] const std::filesystem::path& origin() const noexcept { return origin_; }
    [[nodiscard]] bool is_checkpoint() const noexcept { return restored_ != nullptr; }

    /// The folder of the state that `name` names a checkpoint of; nothing for a folder's own name.
    /// Throws usage_error for a generation that is no number.
    [[nodiscard]] static std::optional<std::string> state_of(const std::string& name);
    /// How a checkpoint of `state` is named.
    [[nodiscard]] static std::string name_of(const std::filesystem::path& state,
                                             std::uint64_t generation);

private:
    void restore(std::optional<std::uint64_t> generation);

    std::filesystem::path origin_;
    std::filesystem::path folder_;
    std::unique_ptr<temporary_folder> restored_;
};

} // namespace chainbase::inspect
