#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/window.hpp>
#include <tools/inspect/maintenance/compact_estimate.hpp>
#include <undo/undo_log.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

constexpr std::uint64_t page = window_header::page_bytes;

std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + page - 1) / page * page;
}

/// A slot is the pool's own.
std::uint64_t pool_bytes(std::uint64_t live, std::uint64_t slot_bytes) {
    return page + whole_pages((live + 1) * slot_bytes);
}

/// Tables keep a fifth free. An area lies at its own length; before it are the header page and a
/// hole.
std::uint64_t table_bytes(std::uint64_t entries) {
    std::uint64_t capacity = std::uint64_t{1} << hash_table::min_log2;
    while (entries > capacity - capacity / 5)
        capacity *= 2;
    return page + hash_table::entry_bytes * capacity;
}

std::uint64_t type_bytes(const type_report& type, const type_schema& schema,
                         const window& objects) {
    // Of the ids in use only pages are held, as they are now.
    const std::uint64_t ids = page + whole_pages(type.next_id * sizeof(slot_number));
    std::uint64_t bytes =
        pool_bytes(type.objects, type.node_bytes) + std::min(ids, type.ids.held());
    for (const rows::type_layout::table& table : rows::type_layout::of(schema).tables)
        bytes += table_bytes(rows::copy_at<hash_state>(objects.root() + table.words_at).used);
    return bytes;
}

} // namespace

std::vector<compacted_part> compact_estimate(const state_report& state, const segment& from) {
    std::vector<compacted_part> all;
    for (std::size_t number = 0; number < state.types.size(); ++number) {
        const type_report& type = state.types[number];
        all.push_back({type.name, type.total().held(),
                       type_bytes(type, from.types().entries()[number].schema,
                                  *from.windows()[number]->objects)});
    }
    compacted_part buffers{"buffers"};
    for (const buffer_report& one : state.buffers) {
        const std::uint64_t live = one.memory.bytes.slots_live;
        buffers.now += one.memory.held();
        const bool is_class = one.name != "buffers.runs";
        buffers.then += live == 0  ? page
                        : is_class ? pool_bytes(live, one.slot_bytes)
                                   : page + live * page;
    }
    all.push_back(buffers);
    all.push_back({"undo log", state.log.held(), page + undo_log_view::chunk_bytes});
    all.push_back({"header", state.header.file_bytes, state.header.file_bytes});
    compacted_part total{"total"};
    for (const compacted_part& one : all) {
        total.now += one.now;
        total.then += one.then;
    }
    all.push_back(total);
    return all;
}

} // namespace chainbase::inspect
