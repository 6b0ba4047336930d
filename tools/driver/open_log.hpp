#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/log_progress.hpp>

#include <filesystem>

namespace chainbase::driver {

/// Opens a log to take blocks from. One without an index that fits is read as a whole and its index
/// saved; that is shown on stderr, and a signal that is caught (catch_interruption) ends it. Throws
/// what block_log_reader throws, and interrupted_error.
[[nodiscard]] inline block_log_reader open_log(const std::filesystem::path& path) {
    log_progress shown("indexing " + path.string());
    return block_log_reader(path, {}, {.watch = shown.as_watcher()});
}

} // namespace chainbase::driver
