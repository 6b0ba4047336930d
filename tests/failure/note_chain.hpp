#pragma once

#include <tests/failure/note.hpp>
#include <tests/support/random_source.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::test {

/// Blocks of random changes of notes, a session each, of which the last few can be popped, beside a
/// naive model of what they come to. A block for which there is no room is undone as a whole.
class note_chain {
public:
    explicit note_chain(std::uint64_t seed) : random_(seed), stands_(1) {}

    /// Applies a block to `db`, or pops one. Returns what was said when there was no room for it:
    /// then nothing changed.
    [[nodiscard]] std::optional<std::string> apply(database& db);
    /// Applies blocks until one is refused. Returns what was said.
    std::string apply_until_refused(database& db);
    /// Applies so many, however many of them are refused. Returns how many were.
    std::size_t apply_some(database& db, std::size_t blocks);

    /// Throws mismatch when objects, keys or revision are not what the blocks come to.
    void require_same(const database& db) const;

private:
    struct content {
        std::uint32_t weight;
        std::string title;
        bool operator==(const content&) const = default;
    };
    using model = std::map<std::uint32_t, content>;

    static constexpr std::size_t lag = 4;

    void apply_block(database& db);
    void change_one(database& db, model& now);

    random_source random_;
    std::vector<model> stands_; ///< after the last committed block, and those behind it
    revision_number committed_ = 0;
};

} // namespace chainbase::test
