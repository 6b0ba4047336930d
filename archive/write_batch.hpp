#pragma once

#include <archive/record/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
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
        extent row;
        std::size_t record_bytes = 0;
        std::size_t first_key = 0;
        std::size_t key_count = 0;
    };

public:
    /// The keys of a put, a range of secondary_key; valid until the batch is changed.
    class key_list {
    public:
        class iterator {
        public:
            using value_type = secondary_key;
            using difference_type = std::ptrdiff_t;
            using iterator_category = std::input_iterator_tag;

            iterator() = default;
            iterator(const write_batch& of, std::size_t at) : batch_(&of), at_(at) {}
            secondary_key operator*() const noexcept {
                const key_extent& key = batch_->keys_[at_];
                return {key.index, batch_->view(key.bytes)};
            }
            iterator& operator++() noexcept {
                ++at_;
                return *this;
            }
            iterator operator++(int) noexcept { return {*batch_, at_++}; }
            friend bool operator==(const iterator&, const iterator&) = default;

        private:
            const write_batch* batch_ = nullptr;
            std::size_t at_ = 0;
        };

        key_list(const write_batch& of, std::size_t first, std::size_t count) noexcept
            : batch_(of), first_(first), count_(count) {}
        [[nodiscard]] std::size_t size() const noexcept { return count_; }
        [[nodiscard]] iterator begin() const noexcept { return {batch_, first_}; }
        [[nodiscard]] iterator end() const noexcept { return {batch_, first_ + count_}; }

    private:
        const write_batch& batch_;
        std::size_t first_;
        std::size_t count_;
    };

    /// A put or an erase; valid until the batch is changed.
    class operation {
    public:
        operation(const write_batch& of, std::size_t number)
            : batch_(&of), step_(&of.steps_[number]) {}

        [[nodiscard]] table_id table() const noexcept { return step_->table; }
        [[nodiscard]] std::uint32_t id() const noexcept { return step_->id; }
        [[nodiscard]] bool is_put() const noexcept { return step_->is_put; }
        [[nodiscard]] bool is_new() const noexcept { return step_->is_new; } ///< see add()
        /// Of a put: its row as engines keep it (below).
        [[nodiscard]] bytes_view row() const noexcept { return batch_->view(step_->row); }
        [[nodiscard]] std::size_t record_bytes() const noexcept { return step_->record_bytes; }
        [[nodiscard]] key_list keys() const noexcept {
            return {*batch_, step_->first_key, step_->key_count};
        }

    private:
        const write_batch* batch_;
        const step* step_;
    };

    /// The row `id` of `table` becomes `record`, found by exactly these keys from then on.
    /// Putting the same row again changes nothing. A key may be that of other rows, too
    /// (store::find).
    void put(table_id table, std::uint32_t id, bytes_view record,
             std::span<const secondary_key> keys = {});

    /// As put(), for a row of which the caller knows that the store has neither it nor any of its
    /// keys: the store does not look for them. If the caller is wrong, the store's invariants
    /// break: an existing row is counted twice, and an existing key leads to the new row only.
    void add(table_id table, std::uint32_t id, bytes_view record,
             std::span<const secondary_key> keys = {});

    /// The row and its keys go; nothing happens when there is none.
    void erase(table_id table, std::uint32_t id);

    void clear() noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
    [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }

    /// Of all puts.
    [[nodiscard]] std::size_t key_count() const noexcept { return keys_.size(); }

    /// The bytes of all rows, records and keys: what to watch to keep a batch from growing too
    /// large.
    [[nodiscard]] std::size_t bytes() const noexcept { return arena_.size(); }

    /// The operations, in order.
    [[nodiscard]] operation operator[](std::size_t number) const { return {*this, number}; }

private:
    [[nodiscard]] bytes_view view(const extent& bytes) const noexcept {
        return bytes_view(arena_).subspan(bytes.offset, bytes.size);
    }

    byte_buffer arena_;
    std::vector<key_extent> keys_;
    std::vector<step> steps_;
};

} // namespace chainbase::archive

namespace chainbase::archive::detail {

/// A row as engines keep it: the record, and behind it the keys that lead to it, so that replacing
/// or erasing the row takes its old keys away.
///
///     row     := record:byte*  key:byte*...  trailer
///     trailer := { index:u16 length:u16 }...  count:u16        one entry per key, little-endian
///
/// Writes the row to `to`, where it takes row_size() bytes.
void join_row(std::byte* to, bytes_view record, std::span<const secondary_key> keys) noexcept;
[[nodiscard]] std::size_t row_size(bytes_view record, std::span<const secondary_key> keys) noexcept;

/// Returns the record within a stored row, none when the row is malformed.
[[nodiscard]] std::optional<bytes_view> record_of(bytes_view row) noexcept;

/// Returns the keys within a stored row (views into it), none when the row is malformed.
[[nodiscard]] std::optional<std::vector<secondary_key>> keys_of(bytes_view row);

/// Whether `key` leads to the stored row; false when the row is malformed.
[[nodiscard]] bool has_key(bytes_view row, const secondary_key& key) noexcept;

/// A key for a message: printable characters as they are, others as \xx, cut after 64 bytes.
[[nodiscard]] std::string printable(bytes_view key);

} // namespace chainbase::archive::detail
