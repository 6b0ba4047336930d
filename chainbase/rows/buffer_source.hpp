#pragma once

#include <pool_allocator/size_classes.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace chainbase::rows {

/// Where the content of texts and vectors is found.
class buffer_source {
public:
    virtual ~buffer_source() = default;

    /// What a handle refers to; nothing when that cannot be.
    [[nodiscard]] virtual std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const = 0;
};

} // namespace chainbase::rows
