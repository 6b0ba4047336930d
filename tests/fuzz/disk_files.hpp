#pragma once

#include <chainbase/checkpoint/disk.hpp>

#include <tests/fuzz/patches.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

namespace chainbase::test {

/// A file of a disk as it is patched in memory.
using content = std::vector<std::byte>;

inline content content_of(disk& on, const std::filesystem::path& file) {
    const auto opened = on.open(file, disk::mode::read);
    content all(opened->bytes());
    (void)opened->read(0, all);
    return all;
}

/// In place of what is there.
inline void store(disk& on, const std::filesystem::path& file, std::span<const std::byte> all) {
    on.remove(file);
    on.open(file, disk::mode::create)->write(0, all);
}

/// At a page of the file, or behind its end.
inline void apply(content& to, const patches::patch& one) {
    constexpr std::size_t page_bytes = 4096;
    const std::size_t pages = (to.size() + page_bytes - 1) / page_bytes;
    const std::size_t at = (pages == 0 ? 0 : one.page % pages * page_bytes) + one.byte;
    if (one.content.empty()) {
        to.resize(std::min(to.size(), at));
        return;
    }
    if (to.size() < at + one.content.size()) to.resize(at + one.content.size());
    std::memcpy(to.data() + at, one.content.data(), one.content.size());
}

/// Checkpoints only when one is asked for.
inline open_options options_on(disk& checkpoints, durability promise) {
    open_options options = quick_options();
    options.promise = promise;
    options.checkpoints = {std::chrono::milliseconds(0), 0};
    options.checkpoint_disk = &checkpoints;
    return options;
}

} // namespace chainbase::test
