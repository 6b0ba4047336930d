#include <chainbase/statistics.hpp>
#include <pool_allocator/hash_table.hpp>

#include <tests/support/snapshot.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase::test {

namespace {

constexpr std::size_t page = window_header::page_bytes;

/// The words that begin the root block of every type; hash_state for each table follows.
struct type_root {
    pool_state pool;
    std::uint32_t next_id;
};

struct runs_root {
    slot_number first_free;
    slot_number end;
    slot_number live;
};

template <typename Words>
Words words_at(const std::byte* from) {
    Words copy;
    std::memcpy(&copy, from, sizeof copy);
    return copy;
}

} // namespace

snapshot::snapshot(const segment& from) {
    const_cast<size_classes&>(from.buffers()).each_window([&](const window& file) {
        const window_header& header = file.header();
        if (header.kind == static_cast<std::uint32_t>(window_kind::runs)) {
            add(file, 0, page * words_at<runs_root>(file.root()).end);
        } else {
            const auto pool = words_at<pool_state>(file.root());
            // Slot 0 is never used, and in a pool without any other it is beyond the file's end.
            if (pool.high_water <= 1)
                add(file, 0, page);
            else
                add(file, 0, page + std::size_t{pool.high_water} * header.slot_bytes);
        }
    });
    for (std::size_t t = 0; t < from.windows().size(); ++t)
        add_type(*from.windows()[t], from.types().entries()[t].schema);
}

void snapshot::add_type(const type_windows& type, const type_schema& schema) {
    const std::byte* words = type.objects->root();
    const auto root = words_at<type_root>(words);
    add(*type.objects, 0, page + std::size_t{root.pool.high_water} * schema.node_bytes);
    add(*type.ids, 0, page + std::size_t{root.next_id} * sizeof(slot_number));
    for (std::size_t t = 0; t < type.tables.size(); ++t) {
        const auto state = words_at<hash_state>(words + sizeof root + t * sizeof(hash_state));
        const std::size_t area = hash_table::entry_bytes << state.log2_capacity;
        add(*type.tables[t], 0, page);
        add(*type.tables[t], area, area);
    }
}

void snapshot::add(const window& file, std::size_t begin, std::size_t bytes) {
    parts_.push_back({file.name(), bytes});
    content_.insert(content_.end(), file.base() + begin, file.base() + begin + bytes);
}

bool operator==(const snapshot& a, const snapshot& b) {
    return a.content_.size() == b.content_.size() &&
           std::memcmp(a.content_.data(), b.content_.data(), a.content_.size()) == 0;
}

std::string snapshot::difference(const snapshot& other) const {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < std::min(parts_.size(), other.parts_.size()); ++i) {
        const part& here = parts_[i];
        const part& there = other.parts_[i];
        if (here.bytes != there.bytes)
            return here.file + ": " + std::to_string(here.bytes) + " bytes in use, " +
                   std::to_string(there.bytes) + " in the other";
        for (std::size_t at = 0; at < here.bytes; ++at)
            if (content_[begin + at] != other.content_[begin + at])
                return here.file + ": offset " + std::to_string(at);
        begin += here.bytes;
    }
    return parts_.size() == other.parts_.size() ? "" : "number of windows";
}

} // namespace chainbase::test
