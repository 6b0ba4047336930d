#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace chainbase::inspect {

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

} // namespace chainbase::inspect
