#include <pool_allocator/id_table.hpp>

#include <algorithm>

namespace chainbase {

void id_table::trim(std::uint32_t next_id) {
    constexpr std::uint32_t per_page = window_header::page_bytes / entry_bytes;
    window_.shrink_to(window_header::page_bytes + std::size_t{next_id} * entry_bytes);
    if (window_.holes_take_space()) return; // find reads the entries of removed objects
    for (std::uint32_t first = 0; first + per_page <= next_id; first += per_page) {
        const slot_number* page = &entry(first);
        if (std::any_of(page, page + per_page, [](slot_number slot) { return slot != 0; }))
            continue;
        window_.punch(window_header::page_bytes + std::size_t{first} * entry_bytes,
                      window_header::page_bytes);
    }
}

usage id_table::measure(std::uint32_t live) const noexcept {
    usage used;
    used.total = window_.bytes();
    used.header = window_header::page_bytes;
    used.links = std::uint64_t{live} * entry_bytes;
    used.slack = used.total - used.header - used.links;
    used.find_holes(window_);
    return used;
}

} // namespace chainbase
