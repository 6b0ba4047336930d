#pragma once

#include <archive/described_record.hpp>
#include <archive/store.hpp>
#include <tools/inspect/rows/beside_writer.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Thrown when a state changed since it was first looked at.
struct moved_meanwhile {};

/// A state as it was at one moment, seen in turns. Thread-safe.
class still_state {
public:
    /// That moment is now: takes a turn, and calls `look` in it. Throws moved_meanwhile when
    /// something is being changed, and what a turn does.
    still_state(row_source& state, const std::function<void()>& look);
    explicit still_state(row_source& state) : still_state(state, [] {}) {}

    /// Takes a turn. Throws moved_meanwhile, and what a turn does.
    void take_turn(const std::function<void()>& look);

    [[nodiscard]] row_source& source() const noexcept { return state_; }
    [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }

private:
    void look_at(const std::function<void()>& look) const;

    row_source& state_;
    std::int64_t revision_ = 0;
    std::uint64_t changes_ = 0;
};

/// The records of all objects of a type, those in memory and those in the archive, by id.
/// Thread-safe.
class type_records {
public:
    enum class places { memory, both };

    /// `archive` may be null: there is none. Both outlive it. Takes turns. Throws usage_error when
    /// there is no such type, damaged_error when the archive lacks rows that the state handed over,
    /// moved_meanwhile.
    type_records(still_state& state, const std::string& type, const archive::store* archive,
                 places where);

    [[nodiscard]] const archive::described_record& record() const noexcept { return record_; }
    /// Ids at or above were not given out.
    [[nodiscard]] std::uint32_t end() const noexcept { return end_; }
    /// How many objects were read.
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::uint64_t archived_rows() const noexcept { return archived_rows_; }

    /// The records of ids from `begin` on, below `end`, each with its length in front, as
    /// archive/state_digest.hpp has them. Throws moved_meanwhile; schema_error when rows of the
    /// archive are of several layouts, and what reading does.
    [[nodiscard]] archive::byte_buffer read(std::uint32_t begin, std::uint32_t end);

    /// An object, valid during the call.
    struct seen {
        std::uint32_t id;
        archive::bytes_view record;
        bool is_archived; ///< in the archive only
    };
    /// The same records one by one, by rising id; between turns.
    void each(std::uint32_t begin, std::uint32_t end,
              const std::function<void(const seen&)>& visit);

private:
    struct in_memory;

    void find_table(const archive::store* archive);
    void find_removed();
    void read_memory(std::uint32_t begin, std::uint32_t end, in_memory& to);
    void merge(std::uint32_t begin, std::uint32_t end, const in_memory& memory,
               const std::function<void(const seen&)>& visit);
    void append_row(archive::bytes_view record, archive::byte_buffer& to);

    still_state& state_;
    const std::string type_;
    const type_schema* schema_;
    archive::described_record record_;
    std::uint32_t end_ = 0;
    const archive::store* archive_ = nullptr; ///< null: has no rows of the type
    archive::table_id table_{};
    std::vector<std::uint32_t> removed_; ///< rising: their rows do not count
    std::atomic<std::uint64_t> row_layout_{no_layout};
    std::atomic<std::uint64_t> rows_{0};
    std::atomic<std::uint64_t> archived_rows_{0};

    static constexpr std::uint64_t no_layout = UINT64_MAX;
};

/// What `attempt()`, which looks at a state in turns, returns when nothing changed while it looked:
/// it throws moved_meanwhile otherwise. Beside a writer it is made three times and for two seconds
/// at least; nothing if something changed each time. Throws what it throws else.
template <typename Attempt>
auto attempt_while_still(Attempt&& attempt) -> std::optional<decltype(attempt())> {
    constexpr int least_attempts = 3;
    const patience until(std::chrono::seconds(2));
    for (int attempts = 1; attempts <= least_attempts || !until.is_over(); ++attempts) {
        try {
            return attempt();
        } catch (const moved_meanwhile&) {
            patience::pause();
        }
    }
    return std::nullopt;
}

} // namespace chainbase::inspect
