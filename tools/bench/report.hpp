#pragma once

#include <tools/bench/measurements.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace chainbase::bench {

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

} // namespace chainbase::bench
