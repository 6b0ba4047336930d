#pragma once

#include <archive/bytes.hpp>

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
        : id_(id), record_(record), owner_(std::move(owner)) {}

    [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
    [[nodiscard]] bytes_view record() const noexcept { return record_; }

    /// For stores: shows only `part` of what record() was, which the owner keeps alive as well.
    void narrow(bytes_view part) noexcept { record_ = part; }

private:
    std::uint32_t id_;
    bytes_view record_;
    std::shared_ptr<const void> owner_;
};

} // namespace chainbase::archive
