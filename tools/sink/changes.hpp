#pragma once

#include <chainbase/feed/entry.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/known_tables.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace chainbase::sink {

/// An object of TYPE that was removed from the archive in a block, or is back in a pop.
struct removed_object {
    std::uint32_t type; ///< TYPE's number
    std::uint32_t id;
    bool is_back;
};

/// What a change of an object of TYPE.removed says; nothing if it is no such change, or the entry
/// tells of the object itself, as it was in memory when the block began.
[[nodiscard]] std::optional<removed_object>
removed_by(const known_tables& tables, const feed::entry& in, const feed::object_change& one);

/// What the entries of a feed change in one database, gathered until it is applied: of each row the
/// last change, of its history all.
///
/// One thread at a time; the tables outlive it.
class changes {
public:
    /// Those of shard `number` of `count`.
    changes(const known_tables& tables, const ddl& made, std::uint32_t number, std::uint32_t count)
        : tables_(tables), ddl_(made), number_(number), count_(count) {}

    /// Whether an entry must be applied by itself, with none before and behind it: one that moves
    /// rows to TYPE.removed, or back.
    [[nodiscard]] static bool stands_alone(const known_tables& tables, const feed::entry& one);

    void add(const feed::entry& one);
    [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return gathered_.records.size(); }
    /// What was gathered; none is left.
    [[nodiscard]] batch take();

private:
    [[nodiscard]] table_batch& of(const table& one);
    [[nodiscard]] bool is_here(const table& of, archive::bytes_view record);
    void change(const feed::entry& in, const feed::object_change& one);
    void note_history(const feed::entry& in, const feed::object_change& one, const table& to);
    void move_removed(const feed::entry& in, const removed_object& one);
    void begin_with(const feed::entry& first);
    void empty_removed(revision_number irreversible);
    void put(table_batch& to, std::uint32_t id, archive::bytes_view record);

    const known_tables& tables_;
    const ddl& ddl_;
    std::uint32_t number_, count_;
    batch gathered_;
    std::map<const table*, std::size_t> places_; ///< in gathered_.tables
    std::map<const table*, row_values> readers_; ///< of tables distributed over several
    /// Tables whose TYPE.removed may have rows, and the newest block in which one moved there.
    std::map<const table*, revision_number> removed_;
    bool has_begun_ = false;
    std::size_t rows_ = 0;
};

} // namespace chainbase::sink
