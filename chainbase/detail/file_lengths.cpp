#include <chainbase/detail/file_lengths.hpp>
#include <chainbase/detail/root_prefix.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/hash_table.hpp>
#include <undo/undo_log.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace chainbase::detail {

namespace {

template <typename T>
T copy_of(const std::byte* from) {
    T copy;
    std::memcpy(&copy, from, sizeof copy);
    return copy;
}

void require_length(const window& file, std::uint64_t used) {
    if (used <= file.bytes()) return;
    throw damaged_error(file.file() + ": truncated to " + std::to_string(file.bytes()) +
                        " of at least " + std::to_string(used) +
                        " bytes; restore the folder from a copy, or replay into a new one");
}

} // namespace

void require_slots(const window& file) {
    const auto pool = copy_of<pool_state>(file.root());
    const window_header& h = file.header();
    if (pool.high_water > 1) // slot 0 is never stored to
        require_length(file, h.first_slot + std::uint64_t{pool.high_water} * h.slot_bytes);
}

void require_log(const window& file) {
    const auto words = copy_of<log_words>(file.root());
    require_length(file, window_header::page_bytes +
                             std::uint64_t{words.chunks.high_water} * undo_log::chunk_bytes);
    for (const log_position at : {words.tail, words.completed})
        if (at <= window_header::page_bytes || at > file.bytes())
            throw damaged_error(file.file() + ": offset 64: the log ends at " + std::to_string(at) +
                                ", outside its " + std::to_string(file.bytes()) +
                                " bytes; restore the folder from a copy, or replay into a new one");
}

void require_type(const type_windows& type) {
    require_slots(*type.objects);
    const auto root = copy_of<root_prefix>(type.objects->root());
    require_length(*type.ids, window_header::page_bytes + std::uint64_t{root.next_id} * 4);
    const std::byte* states = type.objects->root() + sizeof root;
    for (const auto& table : type.tables) {
        const auto state = copy_of<hash_state>(states);
        const std::uint64_t area = hash_table::entry_bytes << std::min(state.log2_capacity, 32U);
        require_length(*table, 2 * area); // an area lies at its own length
        states += sizeof state;
    }
}

} // namespace chainbase::detail
