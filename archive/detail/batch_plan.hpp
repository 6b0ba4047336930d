#pragma once

#include <archive/store.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>

namespace chainbase::archive::detail {

/// What a plan asks of the engine it is made for.
class current_state {
public:
    virtual ~current_state() = default;

    /// The row as it is kept (see stored_row.hpp), in the handle's record().
    [[nodiscard]] virtual std::optional<pinned_row> stored(table_id table,
                                                           std::uint32_t id) const = 0;

    /// The id a key leads to.
    [[nodiscard]] virtual std::optional<std::uint32_t> owner(table_id table, std::uint32_t index,
                                                             bytes_view key) const = 0;

    /// No row of the table has this id or a greater one: those need not be looked up. Objects
    /// finish roughly in the order of their ids, so most rows that are put are such.
    [[nodiscard]] virtual std::uint64_t first_unused(table_id) const {
        return std::uint64_t{UINT32_MAX} + 1;
    }
};

/// What a batch changes in a store, worked out before anything is written: the one place where
/// repeated rows, replaced keys, refused keys and exact counts are decided, for all engines.
///
/// All its memory comes in a few large pieces and goes with it; the batch must outlive it.
class batch_plan {
public:
    struct row_place {
        std::uint32_t table;
        std::uint32_t id;
        friend auto operator<=>(const row_place&, const row_place&) = default;
    };
    struct key_place {
        std::uint32_t table;
        std::uint32_t index;
        bytes_view key;
        friend std::strong_ordering operator<=>(const key_place& a, const key_place& b) noexcept {
            if (const auto order = a.table <=> b.table; order != 0) return order;
            if (const auto order = a.index <=> b.index; order != 0) return order;
            return as_text(a.key) <=> as_text(b.key);
        }
    };

    /// Throws duplicate_key_error when a put takes another row's key, and what `state` throws.
    batch_plan(const store& of, const current_state& state, const write_batch& batch);

    /// The rows to write in their stored form, or to erase (none); by table and id.
    [[nodiscard]] const auto& rows() const noexcept { return rows_; }
    /// The keys to write with their ids, or to erase (none); by table, key number and bytes.
    [[nodiscard]] const auto& keys() const noexcept { return keys_; }
    /// By how many rows each table grows; tables that were only rewritten are absent.
    [[nodiscard]] const auto& growth() const noexcept { return growth_; }

    /// Whether a row that is there already becomes another one, or goes.
    [[nodiscard]] bool replaces_rows() const noexcept;

    std::uint64_t put = 0;
    std::uint64_t unchanged = 0;
    std::uint64_t erased = 0;
    std::uint64_t bytes = 0;        ///< of what is put: records, keys and their lengths
    std::uint64_t record_bytes = 0; ///< of them

private:
    void apply_put(const write_batch::operation& operation);
    void apply_erase(const write_batch::operation& operation);
    [[nodiscard]] std::optional<pinned_row> stored(row_place place) const;
    [[nodiscard]] std::optional<std::uint32_t> owner(const key_place& place) const;
    void drop_keys(row_place place, bytes_view row);
    void take_key(row_place place, const secondary_key& key);
    void grow(std::uint32_t table, std::int64_t by);
    [[nodiscard]] std::byte* take(std::size_t size);
    [[noreturn]] void refuse(const key_place& place, std::uint32_t owner, std::uint32_t id) const;

    const store& store_;
    const current_state& state_;
    std::pmr::monotonic_buffer_resource memory_;
    std::pmr::map<row_place, std::optional<bytes_view>> rows_{&memory_};
    std::pmr::map<key_place, std::optional<std::uint32_t>> keys_{&memory_};
    std::pmr::map<std::uint32_t, std::int64_t> growth_{&memory_};
};

} // namespace chainbase::archive::detail
