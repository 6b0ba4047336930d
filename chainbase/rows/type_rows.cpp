#include <chainbase/rows/type_rows.hpp>
#include <pool_allocator/error.hpp>

#include <utility>

namespace chainbase::rows {

type_rows::type_rows(source from)
    : from_(std::move(from)), layout_(type_layout::of(*from_.schema)),
      slots_(*from_.schema, *from_.objects, *from_.ids) {}

const type_schema::key& type_rows::key_called(std::string_view name) const {
    std::string known;
    for (const type_schema::key& key : schema().keys) {
        if (key.name == name) return key;
        known += (known.empty() ? "" : ", ") + key.name;
    }
    throw usage_error(schema().name + " has no key \"" + std::string(name) + "\"; it has " +
                      (known.empty() ? "none but the id" : "id, " + known));
}

std::optional<tree_reader> type_rows::tree(const type_schema::key& key) const {
    for (const type_layout::tree& one : layout_.trees)
        if (one.key == &key) return tree_reader(slots_, one);
    return std::nullopt;
}

std::optional<table_reader> type_rows::table(const type_schema::key& key) const {
    for (std::size_t number = 0; number < layout_.tables.size(); ++number)
        if (layout_.tables[number].key == &key)
            return table_reader(slots_, *from_.tables.at(number), layout_.tables[number]);
    return std::nullopt;
}

std::vector<slot_number> type_rows::find(const type_schema::key& key, const probe& wanted) const {
    std::vector<slot_number> found;
    if (const auto ordered = tree(key)) {
        const slot_number end = ordered->upper_bound(wanted);
        for (slot_number slot = ordered->lower_bound(wanted); slot != end && slot != 0;
             slot = ordered->next(slot))
            found.push_back(slot);
        return found;
    }
    const auto hashed = table(key);
    return hashed ? hashed->find(wanted) : found;
}

} // namespace chainbase::rows
