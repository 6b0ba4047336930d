#include <chainbase/bulk_load/key_orders.hpp>
#include <chainbase/rows/key_reader.hpp>
#include <pool_allocator/error.hpp>

#include <optional>
#include <span>

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
            from.slots().throw_damaged(slot, 0, "a key has more objects than there are");
        ids.push_back(from.slots().id(slot));
    }
    return ids;
}

std::vector<key_orders::entry> entries_of(const rows::type_rows& from,
                                          const rows::table_reader& table) {
    std::vector<key_orders::entry> entries;
    entries.reserve(from.slots().live());
    table.each([&](const rows::table_reader::entry& one) {
        entries.push_back({from.slots().id(one.slot), one.hash, one.has_key_of_previous});
    });
    return entries;
}

} // namespace

void key_orders::retain(const std::function<bool(std::uint32_t id)>& is_kept) {
    for (auto& [name, ids] : trees)
        std::erase_if(ids, [&](std::uint32_t id) { return !is_kept(id); });
    for (auto& [name, entries] : tables) {
        bool has_head = false; // of the ring, among those kept
        std::vector<entry> kept;
        for (entry one : entries) {
            has_head = has_head && one.has_key_of_previous;
            if (!is_kept(one.id)) continue;
            one.has_key_of_previous = has_head;
            has_head = true;
            kept.push_back(one);
        }
        entries = std::move(kept);
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

} // namespace chainbase::bulk_load
