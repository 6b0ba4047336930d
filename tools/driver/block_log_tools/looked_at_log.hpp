#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/log_progress.hpp>

#include <filesystem>

namespace chainbase::driver {

/// Opens a log for a tool that changes nothing, so that no index appears beside it either; an index
/// that is missing costs a scan each time. Throws what block_log_reader throws, and
/// interrupted_error.
[[nodiscard]] inline block_log_reader look_at_log(const std::filesystem::path& path,
                                                  log_progress& shown) {
    return block_log_reader(path, {},
                            {.save_index = false, .use_index = true, .watch = shown.as_watcher()});
}

} // namespace chainbase::driver
