#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

namespace chainbase::bench {

/// What a reader needs to judge a figure: cpu, cores, memory (bytes), kernel, compiler, whether the
/// build is optimised, the rules for huge pages, the file system that `directory` is on, and the
/// load when the bench started. Anything the system does not tell is the empty string.
[[nodiscard]] nlohmann::json describe_machine(const std::filesystem::path& directory);

/// Whether other work kept more than half of the cores busy in the last minute. All times are wall
/// time, so such work is in the figures.
[[nodiscard]] bool is_busy();

/// Whether assertions are compiled out; figures of another build are worth nothing.
[[nodiscard]] constexpr bool is_optimised() noexcept {
#if defined(NDEBUG) && defined(__OPTIMIZE__)
    return true;
#else
    return false;
#endif
}

} // namespace chainbase::bench
