#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/block_log_tools/block_range.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A log that was made of blocks of others.
struct made_log {
    std::filesystem::path path;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
};

/// Copies the blocks of `record` that are in the range: the record as it is when all of them are,
/// else packed anew. Throws damaged_error when the record is not what it states, and what writing
/// throws.
void copy_blocks(log_record record, const block_range& range, unfinished_log& to);

/// Copies the blocks of the range from the log that `from` reads. Throws the same, naming the
/// place.
template <class Watch>
void copy_blocks(block_log_records from, const block_range& range, unfinished_log& to,
                 Watch&& watch) {
    while (from.next_number() && *from.next_number() <= range.last) {
        log_record next = from.next().value();
        try {
            copy_blocks(std::move(next), range, to);
        } catch (const damaged_error& problem) {
            from.fail(problem.what());
        }
        watch(from.position());
    }
}

/// The reports as one JSON object, as its line, and for people.
[[nodiscard]] nlohmann::ordered_json json_of(const std::string& chain,
                                             const std::vector<made_log>& made);
[[nodiscard]] std::string to_json(const std::string& chain, const std::vector<made_log>& made);
[[nodiscard]] std::string to_text(const std::string& chain, const std::vector<made_log>& made);

} // namespace chainbase::driver
