#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/table_reader.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

namespace chainbase::rows {

namespace {

/// An entry, as hash_table.hpp has it.
struct stored_entry {
    slot_number slot;
    std::uint32_t hash;
};

std::size_t bytes_of(std::uint32_t log2_capacity) {
    return hash_table::entry_bytes << log2_capacity;
}

} // namespace

table_reader::table_reader(const slot_reader& objects, const window& file,
                           const type_layout::table& of)
    : objects_(objects), file_(file), of_(of),
      words_(copy_at<hash_state>(objects.objects().root() + of.words_at)) {
    const bool is_possible = words_.log2_capacity >= hash_table::min_log2 &&
                             words_.log2_capacity <= hash_table::max_log2;
    // The area of a capacity begins at as many bytes as it has.
    if (!is_possible || 2 * bytes_of(words_.log2_capacity) > readable(file))
        throw damaged_error(fmt::format("{}: a table of 2^{} entries is not in a file of {} bytes; "
                                        "run chainbase-inspect check",
                                        file.file(), words_.log2_capacity, readable(file)));
}

slot_number table_reader::head(const probe& key) const {
    const std::uint32_t hash = key.hash();
    const std::uint32_t mask = (std::uint32_t{1} << words_.log2_capacity) - 1;
    const std::byte* const entries = file_.base() + bytes_of(words_.log2_capacity);
    std::uint32_t at = hash >> (32 - words_.log2_capacity);
    for (std::uint32_t step = 0; step <= mask; ++step, at = (at + 1) & mask) {
        const auto here =
            copy_at<stored_entry>(entries + std::size_t{at} * hash_table::entry_bytes);
        if (here.slot == 0) return 0;
        if (here.hash == hash && key.place_of(objects_.value(here.slot)) == 0) return here.slot;
    }
    return 0;
}

std::vector<slot_number> table_reader::ring_of(slot_number head) const {
    std::vector<slot_number> found;
    for (slot_number slot = head; slot != 0;) {
        if (found.size() > objects_.live())
            objects_.throw_damaged(slot, *of_.ring_at, "the ring of its key does not close");
        found.push_back(slot);
        slot = of_.ring_at ? copy_at<slot_number>(objects_.node(slot) + *of_.ring_at) : head;
        if (slot == head) break;
    }
    return found;
}

std::vector<slot_number> table_reader::find(const probe& key) const {
    return ring_of(head(key));
}

void table_reader::each(const std::function<void(const entry&)>& visit) const {
    const std::byte* const entries = file_.base() + bytes_of(words_.log2_capacity);
    std::uint64_t visited = 0;
    for (std::uint64_t at = 0; at < std::uint64_t{1} << words_.log2_capacity; ++at) {
        const auto here = copy_at<stored_entry>(entries + at * hash_table::entry_bytes);
        bool follows = false;
        for (const slot_number slot : ring_of(here.slot)) {
            if (++visited > objects_.live())
                objects_.throw_damaged(slot, 0, "a table has more objects than there are");
            visit({slot, here.hash, follows});
            follows = true;
        }
    }
}

} // namespace chainbase::rows
