#pragma once

#include <archive/record/bytes.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace chainbase::archive {

/// A row found in a store, read where the store keeps it. The bytes stay valid and unchanged as
/// long as this handle or a copy of it lives, whatever is written meanwhile and even when the store
/// is closed; but it holds memory of the store's cache, so keep it no longer than it is read.
class pinned_row {
public:
    /// For stores: `owner` keeps `record` alive.
    pinned_row(std::uint32_t id, bytes_view record, std::shared_ptr<const void> owner) noexcept
        : id_(id), stored_(record), record_(record), owner_(std::move(owner)) {}

    [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
    [[nodiscard]] bytes_view record() const noexcept { return record_; }

    /// The row as the store keeps it, which may have more than the record (write_batch.hpp).
    [[nodiscard]] bytes_view stored() const noexcept { return stored_; }

    /// For stores: record() is only `part` of what is stored.
    void narrow(bytes_view part) noexcept { record_ = part; }

private:
    std::uint32_t id_;
    bytes_view stored_;
    bytes_view record_;
    std::shared_ptr<const void> owner_;
};

/// What a store implements for row_cursor; see there.
class row_cursor_source {
public:
    virtual ~row_cursor_source() = default;
    [[nodiscard]] virtual bool valid() const = 0;
    [[nodiscard]] virtual std::uint32_t id() const = 0;
    [[nodiscard]] virtual bytes_view record() const = 0;
    [[nodiscard]] virtual bytes_view stored() const = 0;
    virtual void next() = 0;
};

/// What a store implements for key_cursor; see there.
class key_cursor_source {
public:
    virtual ~key_cursor_source() = default;
    [[nodiscard]] virtual bool valid() const = 0;
    [[nodiscard]] virtual bytes_view key() const = 0;
    [[nodiscard]] virtual std::uint32_t id() const = 0;
    virtual void next() = 0;
};

/// Walks the rows of a table in the order of their ids.
///
/// Sees the rows that were there when it was made; whether it sees what is written later is open.
/// Must not outlive its store. One thread at a time; other threads may write and read meanwhile.
class row_cursor {
public:
    explicit row_cursor(std::unique_ptr<row_cursor_source> source) : source_(std::move(source)) {}

    /// False behind the last row; id(), record() and next() require it true.
    [[nodiscard]] bool valid() const { return source_->valid(); }
    [[nodiscard]] std::uint32_t id() const { return source_->id(); }

    /// Valid until next().
    [[nodiscard]] bytes_view record() const { return source_->record(); }

    /// The row as the store keeps it: the record, and the keys that lead to it (write_batch.hpp).
    /// Valid until next().
    [[nodiscard]] bytes_view stored() const { return source_->stored(); }

    /// Throws io_error or damaged_error when the store cannot be read: the end is never reached by
    /// mistake.
    void next() { source_->next(); }

private:
    std::unique_ptr<row_cursor_source> source_;
};

/// Walks one secondary key of a table in the order of its bytes; otherwise as row_cursor.
class key_cursor {
public:
    explicit key_cursor(std::unique_ptr<key_cursor_source> source) : source_(std::move(source)) {}

    [[nodiscard]] bool valid() const { return source_->valid(); }

    /// Valid until next().
    [[nodiscard]] bytes_view key() const { return source_->key(); }
    [[nodiscard]] std::uint32_t id() const { return source_->id(); }
    void next() { source_->next(); }

private:
    std::unique_ptr<key_cursor_source> source_;
};

} // namespace chainbase::archive
