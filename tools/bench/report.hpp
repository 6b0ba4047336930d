#pragma once

#include <tools/bench/measurements.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The result of one bench, in the two forms it is printed in.
struct report {
    std::string bench;
    nlohmann::json machine;
    std::uint32_t objects = 0;
    std::uint32_t types = 0;
    std::uint32_t rounds = 0;
    std::vector<row> rows;
};

/// {"bench", "machine", "objects", "types", "rounds", "rows"}; a row has "engine", "operation",
/// "metric" ("ns", "bytes", "ratio" or "count"), "value" (the median) and "samples" (one per
/// round).
[[nodiscard]] nlohmann::ordered_json to_json(const report&);

/// The rows alone, as to_json has them, and "2.1 GHz, g++ 12, tmpfs": for benches with more than
/// one table.
[[nodiscard]] nlohmann::ordered_json rows_to_json(const std::vector<row>&);
[[nodiscard]] std::string in_words(const nlohmann::json& machine);

/// A line per operation and a column per engine, each value with its ratio to `classical` in
/// brackets; then the goal and whether `chainbase` meets it, the rows that do not included.
void print_table(std::ostream&, const report&);
/// The same without what stands above it.
void print_rows(std::ostream&, const std::vector<row>&);

/// What a row of `chainbase` is to be at most: a ratio to a row of `classical`, or a figure in the
/// row's own unit.
struct goal {
    std::string_view operation;
    double at_most;
    /// The row of `classical` that `at_most` is a ratio to; empty for an absolute goal.
    std::string_view reference;
};

/// What any row of `chainbase` is to be at most, as a ratio to the same row of `heap`.
inline constexpr double at_most_of_heap = 1.3;

/// The goal of an operation of a bench, if it has one.
[[nodiscard]] std::optional<goal> goal_of(std::string_view operation) noexcept;

} // namespace chainbase::bench
