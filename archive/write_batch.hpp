#pragma once

#include <archive/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chainbase::archive {

/// A table of one store; equal exactly when it is the same table of that store.
struct table_id {
    std::uint32_t value = 0;
    friend bool operator==(table_id, table_id) = default;
};

/// One way to find a row: the number of the key among the table's key names, and its bytes.
struct secondary_key {
    std::uint32_t index = 0;
    bytes_view bytes;
};

/// Puts and erases that a store applies together, in the order they were added, or not at all.
///
/// Copies what it is given, so the caller's bytes may go at once. Not thread-safe. Reuse one with
/// clear(): its memory stays.
class write_batch {
public:
    /// A put, or an erase when `record` is none; valid until the batch is changed.
    struct operation {
        table_id table;
        std::uint32_t id = 0;
        bool is_put = false;
        bool is_new = false; ///< see add()
        bytes_view record;
        std::span<const secondary_key> keys;
    };

    /// The row `id` of `table` becomes `record`, found by exactly these keys from then on.
    /// Putting the same row again changes nothing.
    void put(table_id table, std::uint32_t id, bytes_view record,
             std::span<const secondary_key> keys = {});

    /// As put(), for a row that the store does not have, nor any of its keys, as the caller knows:
    /// it does not look for them. A row that is there all the same is counted twice.
    void add(table_id table, std::uint32_t id, bytes_view record,
             std::span<const secondary_key> keys = {});

    /// The row and its keys go; nothing happens when there is none.
    void erase(table_id table, std::uint32_t id);

    void clear() noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
    [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }

    /// The bytes of all records and keys: what to watch to keep a batch from growing too large.
    [[nodiscard]] std::size_t bytes() const noexcept { return arena_.size(); }

    /// Calls `function(const operation&)` for each operation, in order.
    template <typename Function>
    void for_each(Function&& function) const {
        std::vector<secondary_key> keys;
        for (const step& next : steps_)
            function(view(next, keys));
    }

private:
    // Offsets instead of views: the arena moves while it grows.
    struct extent {
        std::size_t offset = 0;
        std::size_t size = 0;
    };
    struct key_extent {
        std::uint32_t index = 0;
        extent bytes;
    };
    struct step {
        table_id table;
        std::uint32_t id = 0;
        bool is_put = false;
        bool is_new = false;
        extent record;
        extent keys; // within keys_
    };

    extent keep(bytes_view bytes);
    [[nodiscard]] bytes_view view(const extent& bytes) const noexcept;
    [[nodiscard]] operation view(const step& of, std::vector<secondary_key>& keys) const;

    byte_buffer arena_;
    std::vector<key_extent> keys_;
    std::vector<step> steps_;
};

} // namespace chainbase::archive
