#pragma once

#include <archive/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <type_traits>

namespace chainbase::archive {

/// What somebody else sees of the statistics of a store.
struct published_statistics {
    std::uint64_t process = 0; ///< that has, or had, the store open for writing
    std::int64_t opened = 0;   ///< Unix seconds
    std::int64_t closed = 0;   ///< Unix seconds; 0 while it runs, and if it was killed
    statistics_summary figures;
};

/// The statistics of a store: memory of this process, or, of a state's archive, the file
/// `statistics` in its folder, mapped, so that others see what a running process counts and what
/// one that ended had counted:
///
///     FOLDER/statistics    "chainbase archive statistics <layout>", process, opened, closed;
///                          `statistics` as they lie in memory
///
/// It costs the process nothing but some 90 KiB that the kernel writes back now and then. The file
/// is no part of what is archived: no state counts on it, each opening for writing replaces it by
/// an empty one, and deleting it is harmless.
///
/// A thread-safe place for `statistics`; making and destroying one is not.
class statistics_page {
public:
    /// Seen by nobody else.
    statistics_page();
    /// In the folder, a private one, in place of the file that is there. Throws access_error,
    /// io_error, out_of_space_error.
    explicit statistics_page(const std::filesystem::path& folder);
    /// Notes the end.
    ~statistics_page();
    statistics_page(const statistics_page&) = delete;
    statistics_page& operator=(const statistics_page&) = delete;

    [[nodiscard]] statistics& operator*() const noexcept;
    [[nodiscard]] statistics* operator->() const noexcept { return &**this; }

    /// What the file in this folder says now; nothing if there is none, or none that this version
    /// of the program knows. Throws access_error, io_error.
    [[nodiscard]] static std::optional<published_statistics>
    look(const std::filesystem::path& folder);

private:
    struct content;
    explicit statistics_page(int descriptor);

    content* at_;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it lies in shared memory");
static_assert(std::is_trivially_destructible_v<statistics>, "nobody destroys it there");

} // namespace chainbase::archive
