#include <pool_allocator/flat_tables.hpp>

#include <tests/support/snapshot.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

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

std::size_t bytes_of_buffers(const window& file) {
    const window_header& header = file.header();
    if (header.kind == static_cast<std::uint32_t>(window_kind::runs))
        return page * words_at<runs_root>(file.root()).end;
    const auto pool = words_at<pool_state>(file.root());
    // Slot 0 is never used, and in a pool without any other it is beyond the file's end.
    return pool.high_water <= 1 ? page : page + std::size_t{pool.high_water} * header.slot_bytes;
}

void add_type(std::vector<window_part>& parts, const type_windows& type) {
    const std::byte* words = type.objects->root();
    const auto root = words_at<type_root>(words);
    const std::size_t node_bytes = type.objects->header().slot_bytes;
    parts.push_back({type.objects.get(), 0, page + std::size_t{root.pool.high_water} * node_bytes});
    parts.push_back({type.ids.get(), 0, page + std::size_t{root.next_id} * sizeof(slot_number)});
    for (std::size_t t = 0; t < type.tables.size(); ++t) {
        const auto state = words_at<hash_state>(words + sizeof root + t * sizeof(hash_state));
        const std::size_t area = hash_table::entry_bytes << state.log2_capacity;
        parts.push_back({type.tables[t].get(), 0, page});
        parts.push_back({type.tables[t].get(), area, area});
    }
    for (const auto& tree : type.btrees) {
        const auto pool = words_at<pool_state>(tree->root());
        const std::size_t nodes = std::size_t{pool.high_water} * tree->header().slot_bytes;
        parts.push_back({tree.get(), 0, pool.high_water <= 1 ? page : page + nodes});
    }
}

} // namespace

std::vector<window_part> parts_in_use(const mapped_segment& of) {
    std::vector<window_part> parts;
    const_cast<size_classes&>(of.buffers()).each_window([&](const window& file) {
        parts.push_back({&file, 0, bytes_of_buffers(file)});
    });
    for (const auto& type : of.windows())
        add_type(parts, *type);
    return parts;
}

snapshot::snapshot(const mapped_segment& from) {
    for (const window_part& used : parts_in_use(from)) {
        const std::byte* begin = used.file->base() + used.begin;
        parts_.push_back({used.file->name(), used.bytes});
        content_.insert(content_.end(), begin, begin + used.bytes);
    }
}

std::uint64_t snapshot::digest() const noexcept {
    const std::string_view bytes(reinterpret_cast<const char*>(content_.data()), content_.size());
    return std::hash<std::string_view>{}(bytes);
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
