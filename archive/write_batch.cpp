#include <archive/record/integers.hpp>
#include <archive/write_batch.hpp>

#include <algorithm>

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

namespace chainbase::archive::detail {

namespace {

constexpr std::size_t count_size = 2;
constexpr std::size_t entry_size = 4;

std::uint16_t number_at(bytes_view row, std::size_t offset) noexcept {
    return load_little<std::uint16_t>(row.data() + offset);
}

/// Where the parts of a stored row begin.
struct layout {
    std::size_t keys;    // and the end of the record
    std::size_t entries; // and the end of the keys
    std::size_t count;
};

std::optional<layout> layout_of(bytes_view row) noexcept {
    if (row.size() < count_size) return std::nullopt;
    const std::size_t count = number_at(row, row.size() - count_size);
    const std::size_t trailer = count * entry_size + count_size;
    if (row.size() < trailer) return std::nullopt;
    layout at{0, row.size() - trailer, count};
    std::size_t key_bytes = 0;
    for (std::size_t i = 0; i < count; ++i)
        key_bytes += number_at(row, at.entries + i * entry_size + 2);
    if (at.entries < key_bytes) return std::nullopt;
    at.keys = at.entries - key_bytes;
    return at;
}

} // namespace

std::size_t row_size(bytes_view record, std::span<const secondary_key> keys) noexcept {
    std::size_t size = record.size() + keys.size() * entry_size + count_size;
    for (const secondary_key& key : keys)
        size += key.bytes.size();
    return size;
}

void join_row(std::byte* to, bytes_view record, std::span<const secondary_key> keys) noexcept {
    to = std::ranges::copy(record, to).out;
    for (const secondary_key& key : keys)
        to = std::ranges::copy(key.bytes, to).out;
    for (const secondary_key& key : keys) {
        to = store_little(to, static_cast<std::uint16_t>(key.index));
        to = store_little(to, static_cast<std::uint16_t>(key.bytes.size()));
    }
    store_little(to, static_cast<std::uint16_t>(keys.size()));
}

std::optional<bytes_view> record_of(bytes_view row) noexcept {
    const auto at = layout_of(row);
    if (!at) return std::nullopt;
    return row.first(at->keys);
}

std::optional<std::vector<secondary_key>> keys_of(bytes_view row) {
    const auto at = layout_of(row);
    if (!at) return std::nullopt;
    std::vector<secondary_key> keys;
    std::size_t offset = at->keys;
    for (std::size_t i = 0; i < at->count; ++i) {
        const std::size_t entry = at->entries + i * entry_size;
        const std::size_t length = number_at(row, entry + 2);
        keys.push_back({number_at(row, entry), row.subspan(offset, length)});
        offset += length;
    }
    return keys;
}

bool has_key(bytes_view row, const secondary_key& key) noexcept {
    const auto at = layout_of(row);
    if (!at) return false;
    std::size_t offset = at->keys;
    for (std::size_t entry = at->entries; entry < row.size() - count_size; entry += entry_size) {
        const std::size_t length = number_at(row, entry + 2);
        if (number_at(row, entry) == key.index && same(row.subspan(offset, length), key.bytes))
            return true;
        offset += length;
    }
    return false;
}

std::string printable(bytes_view key) {
    constexpr std::size_t longest = 64;
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : as_text(key.first(std::min(key.size(), longest)))) {
        const auto code = static_cast<unsigned char>(c);
        if (code > 0x20 && code < 0x7f && c != '\\')
            text += c;
        else
            text += {'\\', digits[code >> 4], digits[code & 15]};
    }
    return key.size() > longest ? text + "..." : text;
}

} // namespace chainbase::archive::detail
