#pragma once

#include <archive/store.hpp>

#include <compare>
#include <map>
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
};

/// What a batch changes in a store, worked out before anything is written: the one place where
/// repeated rows, replaced keys, refused keys and exact counts are decided, for all engines.
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
        byte_buffer key;
        friend auto operator<=>(const key_place&, const key_place&) = default;
    };

    /// Throws duplicate_key_error when a put takes another row's key, and what `state` throws.
    batch_plan(const store& of, const current_state& state, const write_batch& batch);

    /// The rows to write in their stored form, or to erase (none).
    [[nodiscard]] const auto& rows() const noexcept { return rows_; }
    /// The keys to write with their ids, or to erase (none).
    [[nodiscard]] const auto& keys() const noexcept { return keys_; }
    /// By how many rows each table grows; tables that were only rewritten are absent.
    [[nodiscard]] const auto& growth() const noexcept { return growth_; }

    std::uint64_t put = 0;
    std::uint64_t unchanged = 0;
    std::uint64_t erased = 0;
    std::uint64_t bytes = 0;

private:
    using content = std::optional<byte_buffer>;

    void apply_put(const write_batch::operation& operation);
    void apply_erase(const write_batch::operation& operation);
    [[nodiscard]] std::optional<pinned_row> stored(row_place place) const;
    [[nodiscard]] std::optional<std::uint32_t> owner(const key_place& place) const;
    void drop_keys(row_place place, bytes_view row);
    void take_key(row_place place, const secondary_key& key);
    void grow(std::uint32_t table, std::int64_t by);
    [[noreturn]] void refuse(const key_place& place, std::uint32_t owner, std::uint32_t id) const;

    const store& store_;
    const current_state& state_;
    std::map<row_place, content> rows_;
    std::map<key_place, std::optional<std::uint32_t>> keys_;
    std::map<std::uint32_t, std::int64_t> growth_;
};

} // namespace chainbase::archive::detail
