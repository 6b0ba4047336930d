#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace chainbase::test {

namespace fs = std::filesystem;

scratch_folder::scratch_folder() {
    spdlog::set_level(spdlog::level::warn); // recoveries are what these tests are about
    const bool in_memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    const fs::path parent = in_memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (parent / "chainbase-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder: " + name);
    path_ = name;
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

open_options quick_options(open_mode mode) {
    open_options options;
    options.mode = mode;
    options.window_bytes = std::size_t{64} << 20;
    options.windows = 80;
    options.sync = false;
    return options;
}

} // namespace chainbase::test
