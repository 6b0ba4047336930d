#pragma once

#include <chainbase/segment.hpp>

#include <tests/support/temporary_folder.hpp>

#include <cstdint>

namespace chainbase::test {

/// A fresh folder, in memory where at least 1 GiB of it is free; gone with the object.
class scratch_folder : public temporary_folder {
public:
    scratch_folder();
};

/// Small windows, no waiting for storage, and no checkpoints.
[[nodiscard]] open_options quick_options(open_mode mode = open_mode::read_write);
/// The same with checkpoints: when they are asked for, at the end, and every so many `blocks`.
[[nodiscard]] open_options with_checkpoints(std::uint64_t blocks = 0);

} // namespace chainbase::test
