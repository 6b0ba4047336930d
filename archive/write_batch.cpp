#include <archive/write_batch.hpp>

namespace chainbase::archive {

void write_batch::put(table_id table, std::uint32_t id, bytes_view record,
                      std::span<const secondary_key> keys) {
    step next{table, id, true, false, keep(record), {keys_.size(), keys.size()}};
    for (const secondary_key& key : keys)
        keys_.push_back({key.index, keep(key.bytes)});
    steps_.push_back(next);
}

void write_batch::add(table_id table, std::uint32_t id, bytes_view record,
                      std::span<const secondary_key> keys) {
    put(table, id, record, keys);
    steps_.back().is_new = true;
}

void write_batch::erase(table_id table, std::uint32_t id) {
    steps_.push_back({table, id, false, false, {}, {}});
}

void write_batch::clear() noexcept {
    arena_.clear();
    keys_.clear();
    steps_.clear();
}

write_batch::extent write_batch::keep(bytes_view bytes) {
    const std::size_t offset = arena_.size();
    append(arena_, bytes);
    return {offset, bytes.size()};
}

bytes_view write_batch::view(const extent& bytes) const noexcept {
    return bytes_view(arena_).subspan(bytes.offset, bytes.size);
}

write_batch::operation write_batch::view(const step& of, std::vector<secondary_key>& keys) const {
    keys.clear();
    for (const key_extent& key : std::span(keys_).subspan(of.keys.offset, of.keys.size))
        keys.push_back({key.index, view(key.bytes)});
    return {of.table, of.id, of.is_put, of.is_new, view(of.record), keys};
}

} // namespace chainbase::archive
