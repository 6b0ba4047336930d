#pragma once

#include <pool_allocator/size_classes.hpp>

#include <array>
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

/// The buffers of a segment whose windows somebody has mapped. A handle is believed as far as it
/// stays within its file; whether its slot is in use is not asked (check::buffer_check knows).
class segment_buffers final : public buffer_source {
public:
    /// The classes and the runs, in order; null where a file could not be opened. They outlive it.
    using files = std::array<const window*, size_classes::window_count>;

    explicit segment_buffers(const files& from) noexcept : files_(from) {}

    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;

private:
    files files_;
};

} // namespace chainbase::rows
