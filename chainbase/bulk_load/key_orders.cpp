#include <chainbase/bulk_load/key_orders.hpp>
#include <pool_allocator/error.hpp>

namespace chainbase::bulk_load {

namespace {

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

} // namespace

key_orders orders_of(const rows::type_rows& from) {
    key_orders all;
    for (const type_schema::key& key : from.schema().keys) {
        if (const auto tree = from.tree(key)) {
            all.trees[key.name] = order_of(from, *tree);
        } else if (const auto table = from.table(key)) {
            std::vector<key_orders::entry>& entries = all.tables[key.name];
            table->each([&](const rows::table_reader::entry& one) {
                entries.push_back({from.slots().id(one.slot), one.hash, one.has_key_of_previous});
            });
        }
    }
    return all;
}

} // namespace chainbase::bulk_load
