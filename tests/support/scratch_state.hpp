#pragma once

#include <chainbase/segment/segment.hpp>

#include <tests/support/temporary_folder.hpp>

#include <cstdint>

namespace chainbase::test {

/// A new folder, in memory where at least 1 GiB is free; removed with the object.
class scratch_folder : public temporary_folder {
public:
    scratch_folder();
};

/// Small windows, no waiting for storage, and no checkpoints.
[[nodiscard]] open_options quick_options(open_mode mode = open_mode::read_write);
/// As quick_options(), with checkpoints: on request, at the end, and every so many `blocks`.
[[nodiscard]] open_options with_checkpoints(std::uint64_t blocks = 0);

} // namespace chainbase::test
