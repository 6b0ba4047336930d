#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

/// What every bench does around its work.
namespace chainbase::bench {

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
