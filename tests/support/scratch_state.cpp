#include <pool_allocator/base/error.hpp>

#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace chainbase::test {

namespace fs = std::filesystem;

namespace {

/// Memory, if there is enough: a container often has 64 MiB of it, too little for the tests of two
/// processes.
fs::path parent_of_scratch() {
    const char* const memory = "/dev/shm";
    struct statvfs room{};
    const bool fits = ::access(memory, W_OK | X_OK) == 0 && ::statvfs(memory, &room) == 0 &&
                      std::uint64_t{room.f_bavail} * room.f_frsize >= std::uint64_t{1} << 30;
    return fits ? fs::path(memory) : fs::temp_directory_path();
}

} // namespace

scratch_folder::scratch_folder() : temporary_folder(parent_of_scratch()) {
    spdlog::set_level(spdlog::level::warn); // recoveries are expected in these tests
}

open_options quick_options(open_mode mode) {
    open_options options;
    options.mode = mode;
    options.window_bytes = std::size_t{64} << 20;
    options.windows = 80;
    options.sync = false;
    options.durability = durability::process;
    options.advise = false; // advice about this machine is not tested here
    return options;
}

open_options with_checkpoints(std::uint64_t blocks) {
    open_options options = quick_options();
    options.durability = durability::checkpoint;
    options.checkpoints = {std::chrono::milliseconds(0), blocks};
    return options;
}

} // namespace chainbase::test
