#include <archive/detail/stored_row.hpp>
#include <archive/write_batch.hpp>

namespace chainbase::archive {

void write_batch::put(table_id table, std::uint32_t id, bytes_view record,
                      std::span<const secondary_key> keys) {
    step next;
    next.table = table;
    next.id = id;
    next.is_put = true;
    next.row = {arena_.size(), detail::row_size(record, keys)};
    next.record_bytes = record.size();
    next.first_key = keys_.size();
    next.key_count = keys.size();
    arena_.resize(arena_.size() + next.row.size);
    detail::join_row(arena_.data() + next.row.offset, record, keys);
    std::size_t offset = next.row.offset + record.size();
    for (const secondary_key& key : keys) {
        keys_.push_back({key.index, {offset, key.bytes.size()}});
        offset += key.bytes.size();
    }
    steps_.push_back(next);
}

void write_batch::add(table_id table, std::uint32_t id, bytes_view record,
                      std::span<const secondary_key> keys) {
    put(table, id, record, keys);
    steps_.back().is_new = true;
}

void write_batch::erase(table_id table, std::uint32_t id) {
    step next;
    next.table = table;
    next.id = id;
    steps_.push_back(next);
}

void write_batch::clear() noexcept {
    arena_.clear();
    keys_.clear();
    steps_.clear();
}

} // namespace chainbase::archive
