#pragma once

#include <chainbase/segment.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace chainbase::bench {

/// How benches open a state that nobody needs afterwards: it survives a kill, and nothing is
/// synced.
[[nodiscard]] inline open_options options_for_bench() {
    open_options options;
    options.sync = false;
    options.promise = durability::process;
    options.advise = false;
    return options;
}

/// Types are registered at compile time in some engines, so there is a limit.
inline constexpr std::uint32_t most_types = 128;

/// A fresh folder that is removed with everything in it.
class scratch_directory {
public:
    /// Throws: chainbase::io_error when no folder can be made in `parent`.
    explicit scratch_directory(const std::filesystem::path& parent);
    ~scratch_directory();
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// What every bench does around its work.

/// /dev/shm where there is one, else the folder for temporary files.
[[nodiscard]] std::filesystem::path default_directory();

/// Throws out_of_space_error unless the file system of `directory` has `needed` bytes free: a
/// sparse file that meets a full one ends the process with SIGBUS. `smaller` is what to take for
/// less work: "fewer objects".
void require_space(const std::filesystem::path& directory, std::uintmax_t needed,
                   std::string_view smaller);

/// So that an interrupted run removes its files, which may take most of the memory. Throws error
/// when a signal was noted.
void throw_if_interrupted();

/// Warns when the figures are going to be worth little: a build without optimisation, a machine
/// that has other work.
void warn_about_conditions();

/// The names of all engines of a bench, for its help.
template <typename Engines>
[[nodiscard]] std::string engine_list(const Engines& all) {
    std::string list;
    for (const auto& entry : all)
        list.append(list.empty() ? "" : ", ").append(entry.name);
    return list;
}

/// For command_option::check: empty when `Find` has an engine of that name, else what to say.
template <auto Find>
[[nodiscard]] std::string check_engine(const std::string& name) {
    return Find(name) == nullptr ? "no engine is called " + name : "";
}

} // namespace chainbase::bench
