#pragma once

#include <tools/driver/live/load.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver::live {

/// The report as one JSON object (README.md says what is in it), and for people.
[[nodiscard]] std::string to_json(const load_report& report);
[[nodiscard]] std::string to_text(const load_report& report);

/// A row a second, a header above them.
[[nodiscard]] std::string to_csv(const load_report& report);

/// The files of a measurement, in a folder that is made if there is none: load.csv, load.json,
/// load.gp and, made by gnuplot with that, load.svg.
class load_files {
public:
    /// Throws usage_error when one of them exists already, io_error when the folder cannot be made.
    explicit load_files(std::filesystem::path folder);

    /// Writes them. Returns why there is no plot, and nothing when there is one. Throws io_error.
    [[nodiscard]] std::optional<std::string> write(const load_report& report) const;

private:
    [[nodiscard]] std::optional<std::string> plot() const;

    std::filesystem::path folder_;
};

} // namespace chainbase::driver::live
