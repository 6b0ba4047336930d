#include <archive/detail/batch_plan.hpp>
#include <archive/detail/stored_row.hpp>
#include <pool_allocator/error.hpp>

namespace chainbase::archive::detail {

batch_plan::batch_plan(const store& of, const current_state& state, const write_batch& batch)
    : store_(of), state_(state) {
    batch.for_each([&](const write_batch::operation& operation) {
        operation.is_put ? apply_put(operation) : apply_erase(operation);
    });
}

void batch_plan::apply_put(const write_batch::operation& operation) {
    const row_place place{operation.table.value, operation.id};
    byte_buffer row = join_row(operation.record, operation.keys);
    const auto before = stored(place);
    if (before && same(before->record(), row)) {
        ++unchanged;
        return;
    }
    if (before) drop_keys(place, before->record());
    for (const secondary_key& key : operation.keys)
        take_key(place, key);
    ++put;
    bytes += row.size();
    if (!before) grow(place.table, 1);
    rows_[place] = std::move(row);
}

void batch_plan::apply_erase(const write_batch::operation& operation) {
    const row_place place{operation.table.value, operation.id};
    const auto before = stored(place);
    if (!before) return;
    drop_keys(place, before->record());
    ++erased;
    grow(place.table, -1);
    rows_[place] = std::nullopt;
}

// What the batch did so far hides what the store holds. The handle copies a planned row, since
// applying the operation replaces it.
std::optional<pinned_row> batch_plan::stored(row_place place) const {
    const auto planned = rows_.find(place);
    if (planned == rows_.end()) return state_.stored({place.table}, place.id);
    if (!planned->second) return std::nullopt;
    const auto copy = std::make_shared<const byte_buffer>(*planned->second);
    return pinned_row(place.id, *copy, copy);
}

std::optional<std::uint32_t> batch_plan::owner(const key_place& place) const {
    const auto planned = keys_.find(place);
    if (planned != keys_.end()) return planned->second;
    return state_.owner({place.table}, place.index, place.key);
}

void batch_plan::drop_keys(row_place place, bytes_view row) {
    const auto keys = keys_of(row);
    if (!keys)
        throw damaged_error(store_.name() + ": row " + std::to_string(place.id) + " of table \"" +
                            store_.tables()[place.table].name +
                            "\" is malformed; restore the archive from a backup or rebuild it by a "
                            "replay");
    for (const secondary_key& key : *keys)
        keys_[{place.table, key.index, {key.bytes.begin(), key.bytes.end()}}] = std::nullopt;
}

void batch_plan::take_key(row_place place, const secondary_key& key) {
    key_place at{place.table, key.index, {key.bytes.begin(), key.bytes.end()}};
    const auto before = owner(at);
    if (before && *before != place.id) refuse(at, *before, place.id);
    keys_[std::move(at)] = place.id;
}

void batch_plan::grow(std::uint32_t table, std::int64_t by) {
    growth_[table] += by;
}

void batch_plan::refuse(const key_place& place, std::uint32_t owner, std::uint32_t id) const {
    const table_description& table = store_.tables()[place.table];
    throw duplicate_key_error(
        store_.name() + ": table \"" + table.name + "\", key " + table.key_names[place.index] +
        " = " + printable(place.key) + " leads to row " + std::to_string(owner) + ", so row " +
        std::to_string(id) + " cannot take it; nothing of the batch was written");
}

} // namespace chainbase::archive::detail
