#pragma once

#include <chainbase/segment.hpp>

namespace chainbase::bench {

/// How benches open a state that nobody needs afterwards: it survives a kill, and nothing is
/// synced.
[[nodiscard]] inline open_options options_for_bench() {
    open_options options;
    options.sync = false;
    options.promise = durability::process;
    options.advise = false;
    return options;
}

} // namespace chainbase::bench
