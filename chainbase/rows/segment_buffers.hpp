#pragma once

#include <chainbase/rows/buffer_source.hpp>

#include <array>

namespace chainbase::rows {

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
