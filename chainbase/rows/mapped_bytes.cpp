#include <chainbase/rows/mapped_bytes.hpp>

namespace chainbase::rows {

std::optional<std::span<const std::byte>> segment_buffers::content(buffer_handle handle) const {
    if (handle.bits == 0) return std::span<const std::byte>();
    if (!handle.in_segment() || handle.length() == 0) return std::nullopt;
    const std::size_t length = handle.length();
    const bool is_run = length > size_classes::largest_class;
    const std::size_t number = is_run ? size_classes::class_count : size_classes::class_of(length);
    const std::size_t first = is_run ? 0 : window_header::page_bytes;
    const std::size_t slot_bytes =
        is_run ? page_runs::page_bytes : size_classes::bytes_of_class(number);
    const window* const file = files_[number];
    const std::size_t at = first + handle.slot() * slot_bytes;
    if (!file || at > readable(*file) || readable(*file) - at < length) return std::nullopt;
    return std::span(file->base() + at, length);
}

} // namespace chainbase::rows
