#pragma once

#include <filesystem>
#include <string>

namespace chainbase::driver {

/// What of a segment's files is in memory, and what this process had to do with disks, at this
/// moment, in Prometheus' text format; watching.md lists the metrics. Figures that the kernel does
/// not tell are NaN. Takes no lock of the state: the time is the scraper's, about 100 ns for
/// each page where pages are small.
[[nodiscard]] std::string memory_metrics_text(const std::filesystem::path& segment);

} // namespace chainbase::driver
