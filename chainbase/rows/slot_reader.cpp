#include <chainbase/detail/root_prefix.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/slot_reader.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

namespace chainbase::rows {

namespace {

constexpr std::size_t first_slot = window_header::page_bytes;

chainbase::detail::root_prefix root_of(const window& objects) {
    if (readable(objects) < window_header::page_bytes)
        throw damaged_error(objects.file() + ": truncated, to less than a page");
    return copy_at<chainbase::detail::root_prefix>(objects.root());
}

} // namespace

slot_reader::slot_reader(const type_schema& schema, const window& objects, const window& ids)
    : schema_(schema), objects_(objects), ids_(ids) {
    const auto root = root_of(objects);
    end_ = (readable(objects) - first_slot) / schema.node_bytes;
    next_id_ = root.next_id;
    live_ = root.pool.live == 0 ? 0 : root.pool.live - 1; // slot 0 counts, too
}

slot_number slot_reader::slot_of(std::uint32_t id) const {
    if (id >= next_id_) return 0;
    const std::size_t at = window_header::page_bytes + std::size_t{id} * sizeof(slot_number);
    if (at + sizeof(slot_number) > readable(ids_))
        throw damaged_error(
            fmt::format("{}: truncated, it has no entry for object {}", ids_.file(), id));
    return copy_at<slot_number>(ids_.base() + at);
}

const std::byte* slot_reader::node(slot_number slot) const {
    if (slot >= end_)
        throw damaged_error(fmt::format("{}: something leads to slot {}, it has {}; run "
                                        "chainbase-inspect check",
                                        objects_.file(), slot, end_));
    return objects_.base() + first_slot + std::size_t{slot} * schema_.node_bytes;
}

std::uint32_t slot_reader::id(slot_number slot) const {
    return copy_at<std::uint32_t>(value(slot));
}

void slot_reader::throw_damaged(slot_number slot, std::size_t at, const char* what) const {
    throw damaged_error(
        fmt::format("{}: offset {}: slot {}: {}; run chainbase-inspect check", objects_.file(),
                    first_slot + std::size_t{slot} * schema_.node_bytes + at, slot, what));
}

} // namespace chainbase::rows
