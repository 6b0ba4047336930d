#pragma once

#include <pool_allocator/base/page_cache.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace chainbase {
class segment;
}

namespace chainbase::driver {

/// What of a segment's files is in memory, and what this process had to do with disks, in
/// Prometheus' text format; watching.md lists the metrics. Figures that the kernel does not tell
/// are NaN. Takes no lock of the state. However often it is called, the kernel is asked for a file
/// as rarely as class cached_files does.
///
/// text() is for any thread.
class memory_metrics {
public:
    /// Of the files that there are now: the types are known.
    explicit memory_metrics(const segment& of);
    [[nodiscard]] std::string text();

private:
    using files = std::vector<std::filesystem::path>;

    [[nodiscard]] cached_bytes cached_in(const files& all);
    [[nodiscard]] cached_bytes cached_or_unknown(const std::filesystem::path& file);

    files header_;
    files log_;
    files buffers_;
    std::map<std::string, files> types_;
    cached_files cached_;
};

} // namespace chainbase::driver
