#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/progress.hpp>

#include <filesystem>

namespace chainbase::driver {

/// Opens a log to take blocks from. If its index does not fit, reads the whole log, with progress
/// on stderr, and saves the index; a caught signal (catch_interruption) ends this. Throws what
/// block_log_reader throws, and interrupted_error.
[[nodiscard]] inline block_log_reader open_log(const std::filesystem::path& path) {
    progress shown("indexing " + path.string());
    return block_log_reader(path, {}, {.watch = shown.as_callback()});
}

} // namespace chainbase::driver
