#pragma once

#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>

namespace chainbase::test {

/// A sample state, closed, in a folder that goes with it.
struct sample_folder {
    scratch_folder scratch;
    std::filesystem::path state = scratch / "state";
    sample_counts made = build_sample_state(state);
};

} // namespace chainbase::test
