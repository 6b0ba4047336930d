#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/undo_log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::bulk_load {

namespace {

class no_buffers final : public rows::buffer_source {
public:
    [[nodiscard]] std::optional<std::span<const std::byte>> content(buffer_handle) const override {
        return std::nullopt;
    }
};

std::vector<std::uint32_t> order_of(const rows::type_rows& from, const rows::tree_reader& tree) {
    std::vector<std::uint32_t> ids;
    const std::uint64_t all = from.slots().live();
    ids.reserve(all);
    for (slot_number slot = tree.first(); slot != 0; slot = tree.next(slot)) {
        if (ids.size() == all)
            from.slots().throw_damaged(slot, 0, "a key has more objects than the type has");
        ids.push_back(from.slots().id(slot));
    }
    return ids;
}

key_orders::table entries_of(const rows::type_rows& from, const rows::table_reader& table) {
    key_orders::table all{table.seed(), {}};
    all.entries.reserve(from.slots().live());
    table.each([&](const rows::table_reader::entry& one) {
        all.entries.push_back({from.slots().id(one.slot), one.hash, one.has_key_of_previous});
    });
    return all;
}

} // namespace

void key_orders::retain(const std::function<bool(std::uint32_t id)>& is_kept) {
    for (auto& [name, ids] : trees)
        std::erase_if(ids, [&](std::uint32_t id) { return !is_kept(id); });
    for (auto& [name, table] : tables) {
        bool has_head = false; // of the ring, among those kept
        std::vector<entry> kept;
        for (entry one : table.entries) {
            has_head = has_head && one.has_key_of_previous;
            if (!is_kept(one.id)) continue;
            one.has_key_of_previous = has_head;
            has_head = true;
            kept.push_back(one);
        }
        table.entries = std::move(kept);
    }
}

bool is_computed(const type_schema& schema, const type_schema::key& key) {
    const no_buffers none;
    const rows::key_reader reader(schema, key, none);
    const bool is_in_table = key.kind.starts_with("hashed");
    return !(is_in_table ? reader.why_no_hash() : reader.why_no_order()).empty();
}

key_orders orders_of(const rows::type_rows& from, which_keys of) {
    key_orders all;
    for (const type_schema::key& key : from.schema().keys) {
        if (of == which_keys::computed && !is_computed(from.schema(), key)) continue;
        if (const auto tree = from.tree(key))
            all.trees[key.name] = order_of(from, *tree);
        else if (const auto table = from.table(key))
            all.tables[key.name] = entries_of(from, *table);
    }
    return all;
}

namespace {

constexpr std::size_t batch_entries = 1024; ///< bounds the log that entering them takes

hash_state& words_of(const table_loader::objects& of, const rows::type_layout::table& key) {
    std::byte* const root = of.nodes - window_header::page_bytes + sizeof(window_header);
    return *reinterpret_cast<hash_state*>(root + key.words_at);
}

hash_state& initialised(window& file, hash_state& words) {
    hash_table::initialise(file, words);
    return words;
}

/// Gives an empty table the area that so many entries need in the end. Entries that come in the
/// order of their hashes would all stand at the beginning of one that grows with them.
void give_area(window& file, hash_state& words, std::size_t entries) {
    std::uint32_t log2 = words.log2_capacity;
    const auto room = [&] { return (std::uint64_t{1} << log2) - (std::uint64_t{1} << log2) / 5; };
    while (room() < entries && log2 < hash_table::max_log2)
        ++log2;
    if (log2 == words.log2_capacity) return;
    file.grow_range(hash_table::area_offset(log2), hash_table::area_offset(log2));
    words.log2_capacity = log2;
}

} // namespace

table_loader::table_loader(const objects& of, const rows::type_layout::table& key, window& file,
                           undo_log& log)
    : of_(of), key_(key), words_(initialised(file, words_of(of, key))), file_(file), log_(log),
      table_(file, words_, &log) {}

const std::byte* table_loader::value(slot_number slot) const noexcept {
    return of_.nodes + std::size_t{slot} * of_.schema.node_bytes + of_.schema.value_offset;
}

std::byte* table_loader::ring(slot_number slot) const noexcept {
    return of_.nodes + std::size_t{slot} * of_.schema.node_bytes + *key_.ring_at;
}

void table_loader::insert(std::uint32_t hash, slot_number slot) {
    table_.reserve();
    log_.reserve(hash_table::store_log_bytes);
    table_.insert(hash, slot);
    if (key_.ring_at) {
        const slot_number alone[2] = {slot, slot};
        std::memcpy(ring(slot), alone, sizeof alone);
    }
}

/// The words of a ring are the next slot and the one before; the last one leads to the head, which
/// has the smallest id. Returns the head.
slot_number table_loader::enter_ring(std::uint32_t hash, slot_number head, slot_number slot) {
    const auto id = [&](slot_number of) { return rows::copy_at<std::uint32_t>(value(of)); };
    const auto previous = [&](slot_number of) {
        return rows::copy_at<slot_number>(ring(of) + sizeof(slot_number));
    };
    const bool is_first = id(slot) < id(head);
    slot_number before = previous(head); // objects mostly come in the order of their ids
    while (!is_first && id(before) > id(slot))
        before = previous(before);
    const auto after = rows::copy_at<slot_number>(ring(before));
    const slot_number links[2] = {after, before};
    std::memcpy(ring(slot), links, sizeof links);
    std::memcpy(ring(before), &slot, sizeof slot);
    std::memcpy(ring(after) + sizeof slot, &slot, sizeof slot);
    if (!is_first) return head;
    table_.replace(hash, head, slot);
    return slot;
}

template <typename Work>
void table_loader::in_batches(std::size_t count, Work&& work) {
    for (std::size_t done = 0; done < count;) {
        operation batch(log_, 0);
        for (const std::size_t end = std::min(count, done + batch_entries); done < end; ++done)
            work(done);
        batch.complete();
    }
    table_.trim();
}

void table_loader::load(const rows::key_reader& key) {
    const std::string name = of_.schema.name + "." + key_.key->name;
    const std::string& unknown = key.why_no_hash().empty() ? key.why_no_order() : key.why_no_hash();
    if (!unknown.empty() && of_.end != 1) // nothing is unknown of no objects
        throw usage_error(name + " cannot be hashed: " + unknown +
                          ", which only the program that knows the type understands");
    in_batches(of_.end - 1, [&](std::size_t number) {
        const auto slot = static_cast<slot_number>(number + 1);
        const auto hash = key.hash(value(slot), table_.seed());
        if (!hash) throw damaged_error(name + ": a text of a key is in no buffer");
        const slot_number head = table_.find(*hash, [&](slot_number other) {
            const auto order = key.compare(value(other), value(slot));
            return order && *order == 0;
        });
        if (head == 0) return insert(*hash, slot);
        if (key_.is_unique)
            throw duplicate_key_error(fmt::format("{}: objects {} and {} have the same key", name,
                                                  rows::copy_at<std::uint32_t>(value(head)),
                                                  rows::copy_at<std::uint32_t>(value(slot))));
        log_.reserve(hash_table::store_log_bytes);
        static_cast<void>(enter_ring(*hash, head, slot));
    });
}

void table_loader::load(std::span<const entry> entries, const hash_seed& seed) {
    hash_table::keep_seed(file_, log_.addresses(), seed);
    const auto keys = std::ranges::count(entries, false, &entry::has_key_of_previous);
    give_area(file_, words_, static_cast<std::size_t>(keys));
    std::vector<bool> is_there(of_.end, false);
    slot_number head = 0;
    std::uint32_t hash = 0; // of its entry
    in_batches(entries.size(), [&](std::size_t number) {
        const entry& one = entries[number];
        const bool follows = one.has_key_of_previous && head != 0 && key_.ring_at;
        if (is_there[one.slot] || follows != one.has_key_of_previous)
            throw damaged_error(fmt::format("{}.{} has object {} twice", of_.schema.name,
                                            key_.key->name,
                                            rows::copy_at<std::uint32_t>(value(one.slot))));
        is_there[one.slot] = true;
        log_.reserve(hash_table::store_log_bytes);
        if (follows) {
            head = enter_ring(hash, head, one.slot);
            return;
        }
        insert(one.hash, one.slot);
        head = one.slot;
        hash = one.hash;
    });
    if (entries.size() + 1 != of_.end)
        throw damaged_error(fmt::format("{}.{} has {} objects, the type has {}", of_.schema.name,
                                        key_.key->name, entries.size(), of_.end - 1));
}

namespace {

constexpr slot_number nowhere = UINT32_MAX;

/// A link is a distance in nodes.
std::int32_t distance(slot_number from, slot_number to) noexcept {
    return to == nowhere ? links::no_node : static_cast<std::int32_t>(to - from);
}

} // namespace

void tree_loader::store(slot_number slot, links::word at, std::uint32_t value) noexcept {
    std::memcpy(nodes_ + slot * node_bytes_ + links_at_ + static_cast<std::size_t>(at), &value,
                sizeof value);
}

void tree_loader::store_links(slot_number slot, slot_number parent, slot_number left,
                              slot_number right, bool is_red) noexcept {
    store(slot, links::word::parent, links::parent_bits(distance(slot, parent), is_red));
    store(slot, links::word::left, static_cast<std::uint32_t>(distance(slot, left)));
    store(slot, links::word::right, static_cast<std::uint32_t>(distance(slot, right)));
}

slot_number tree_loader::link(std::span<const slot_number> order, slot_number parent,
                              int levels_above) noexcept {
    if (order.empty()) return nowhere;
    const std::size_t middle = order.size() / 2;
    const slot_number slot = order[middle];
    const slot_number left = link(order.first(middle), slot, levels_above + 1);
    const slot_number right = link(order.subspan(middle + 1), slot, levels_above + 1);
    store_links(slot, parent, left, right, levels_above >= black_levels_);
    if (is_ranked_) store(slot, links::word::size, static_cast<std::uint32_t>(order.size()));
    return slot;
}

void tree_loader::link(std::span<const slot_number> order) noexcept {
    black_levels_ = static_cast<int>(std::bit_width(order.size() + 1)) - 1; // which are full
    const slot_number root = link(order, 0, 0);
    const bool is_empty = order.empty();
    store_links(0, root, is_empty ? 0 : order.front(), is_empty ? 0 : order.back(), true);
}

} // namespace chainbase::bulk_load
