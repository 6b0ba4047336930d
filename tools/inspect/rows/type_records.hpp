#pragma once

#include <archive/record/described_record.hpp>
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

/// Thrown when a state changed since the first read.
struct state_changed {};

/// A state at one moment, read in turns. Thread-safe.
class unchanging_state {
public:
    /// Fixes the moment: takes a turn, and calls `look` in it. Throws state_changed during a
    /// change, and what a turn throws.
    unchanging_state(row_source& state, const std::function<void()>& look);
    explicit unchanging_state(row_source& state) : unchanging_state(state, [] {}) {}

    /// Takes a turn. Throws state_changed, and what a turn throws.
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
    enum class places {
        memory,
        both,
        with_removed, ///< also rows of the archive whose objects were removed
    };

    /// `archive` may be null: there is none. Both must outlive it. Takes turns. Throws usage_error
    /// when there is no such type, damaged_error when the archive lacks rows that the state handed
    /// over, state_changed.
    type_records(unchanging_state& state, const std::string& type, const archive::store* archive,
                 places where);

    [[nodiscard]] const archive::described_record& record() const noexcept { return record_; }
    /// End of the assigned ids.
    [[nodiscard]] std::uint32_t end() const noexcept { return end_; }
    /// Number of objects read.
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::uint64_t archived_rows() const noexcept { return archived_rows_; }
    /// The layout of the rows of the archive that were read, if any were.
    [[nodiscard]] std::optional<std::uint32_t> row_layout() const noexcept {
        const std::uint64_t known = row_layout_;
        if (known == no_layout) return std::nullopt;
        return static_cast<std::uint32_t>(known);
    }

    /// The records of ids in [begin, end), each preceded by its length, as in
    /// archive/state_digest.hpp. Throws state_changed; schema_error when rows of the archive have
    /// several layouts, and what reading throws.
    [[nodiscard]] archive::byte_buffer read(std::uint32_t begin, std::uint32_t end);

    /// An object, valid during the call.
    struct seen {
        std::uint32_t id;
        archive::bytes_view record;
        bool is_archived;           ///< only in the archive
        archive::bytes_view keys{}; ///< of an archived one: how its row ends (write_batch.hpp)
        bool is_removed = false;    ///< only with places::with_removed
    };
    /// The same records one by one, by rising id; call it outside of turns.
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

    unchanging_state& state_;
    const std::string type_;
    const type_schema* schema_;
    archive::described_record record_;
    std::uint32_t end_ = 0;
    const archive::store* archive_ = nullptr; ///< null: no archived rows of the type
    archive::table_id table_{};
    std::vector<std::uint32_t> removed_; ///< rising: their rows are obsolete
    bool has_removed_ = false;           ///< they are visited
    std::atomic<std::uint64_t> row_layout_{no_layout};
    std::atomic<std::uint64_t> rows_{0};
    std::atomic<std::uint64_t> archived_rows_{0};

    static constexpr std::uint64_t no_layout = UINT64_MAX;
};

/// Returns the result of `attempt()`, which reads a state in turns and throws state_changed if it
/// changed. Beside a writer tries at least three times and for two seconds; returns nothing if
/// every attempt met a change. Passes other exceptions.
template <typename Attempt>
auto attempt_while_unchanged(Attempt&& attempt) -> std::optional<decltype(attempt())> {
    constexpr int min_attempts = 3;
    const patience until(std::chrono::seconds(2));
    for (int attempts = 1; attempts <= min_attempts || !until.is_over(); ++attempts) {
        try {
            return attempt();
        } catch (const state_changed&) {
            patience::pause();
        }
    }
    return std::nullopt;
}

} // namespace chainbase::inspect
