#pragma once

#include <tools/inspect/temporary_folder.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::inspect {

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
