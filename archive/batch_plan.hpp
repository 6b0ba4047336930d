#pragma once

#include <archive/store.hpp>

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::archive {

/// The ids of the rows that a key leads to, falling: nearly always one.
using row_ids = boost::container::small_vector<std::uint32_t, 4>;

} // namespace chainbase::archive

namespace chainbase::archive::detail {

/// The engine's present content, as a plan reads it.
class current_state {
public:
    virtual ~current_state() = default;

    /// The stored row (see write_batch.hpp), in the handle's record().
    [[nodiscard]] virtual std::optional<pinned_row> stored(table_id table,
                                                           std::uint32_t id) const = 0;

    /// The ids that a key leads to, falling.
    [[nodiscard]] virtual row_ids owners(table_id table, std::uint32_t index,
                                         bytes_view key) const = 0;

    /// The id from which on the table has no rows, so that they need not be looked up. Objects
    /// finish roughly in the order of their ids, so most rows that are put lie beyond it.
    [[nodiscard]] virtual std::uint64_t first_unused(table_id) const {
        return std::uint64_t{UINT32_MAX} + 1;
    }
};

/// The changes of a batch to a store, computed before anything is written. All engines use it, so
/// repeated rows, replaced and shared keys and exact counts are decided in one place.
///
/// Rows are decided one by one, since no row depends on another, and then the keys; sorting groups
/// what is decided together.
///
/// All its memory comes in a few large pieces and is freed with it; the batch must outlive it.
class batch_plan {
public:
    struct row_change {
        std::uint32_t table;
        std::uint32_t id;
        std::optional<bytes_view> row; ///< to write, in its stored form; none: erase the row
    };
    struct key_change {
        std::uint32_t table;
        std::uint32_t index;
        bytes_view key;
        std::span<const std::uint32_t> rows; ///< all rows it leads to, falling; none: erase
    };

    /// Throws what `state` throws.
    batch_plan(const store& of, const current_state& state, const write_batch& batch);
    batch_plan(const batch_plan&) = delete;
    batch_plan& operator=(const batch_plan&) = delete;

    /// By table and id.
    [[nodiscard]] const auto& rows() const noexcept { return rows_; }
    /// By table, key number and bytes.
    [[nodiscard]] const auto& keys() const noexcept { return keys_; }
    /// By how many rows each table grows; tables without a change are absent.
    [[nodiscard]] const auto& growth() const noexcept { return growth_; }

    /// Whether existing content changes: a row is replaced or erased, or a key leads elsewhere.
    [[nodiscard]] bool replaces() const noexcept { return replaces_; }

    std::uint64_t put = 0;
    std::uint64_t unchanged = 0;
    std::uint64_t erased = 0;
    std::uint64_t bytes = 0;        ///< put: records, keys and their lengths
    std::uint64_t record_bytes = 0; ///< of them

private:
    /// The result for a row: its last operation.
    struct outcome {
        write_batch::operation operation;
        bool is_new; ///< the first operation on the row says that the store does not have it
    };
    /// A row gets a key, or loses it.
    struct key_step {
        std::uint32_t table;
        std::uint32_t index;
        std::uint64_t begin; ///< the first bytes of the key, so that few are compared whole
        bytes_view key;
        std::uint32_t id;
        bool is_taken;
        bool is_new; ///< the store does not have the key either
    };

    void decide_rows(const write_batch& batch);
    void decide_row(const outcome& row);
    void put_row(const outcome& row, const std::optional<pinned_row>& before);
    [[nodiscard]] std::optional<pinned_row> stored(const outcome& row) const;
    void drop_keys(const write_batch::operation& of, bytes_view row);
    void add_step(const write_batch::operation& of, const secondary_key& key, bool is_taken,
                  bool is_new);
    void decide_keys();
    void decide_key(std::span<const key_step> steps);
    [[nodiscard]] std::span<const std::uint32_t> keep(std::span<const std::uint32_t> ids);
    [[nodiscard]] bytes_view keep(bytes_view bytes);

    const store& store_;
    const current_state& state_;
    std::pmr::monotonic_buffer_resource memory_;
    std::pmr::vector<row_change> rows_{&memory_};
    std::pmr::vector<key_step> steps_{&memory_};
    std::pmr::vector<key_change> keys_{&memory_};
    std::pmr::map<std::uint32_t, std::int64_t> growth_{&memory_};
    bool replaces_ = false;
};

} // namespace chainbase::archive::detail
