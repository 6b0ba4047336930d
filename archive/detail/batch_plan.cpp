#include <archive/detail/batch_plan.hpp>
#include <archive/detail/stored_row.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>

namespace chainbase::archive::detail {

namespace {

/// A node of each map with the allocator's rounding, for a row with one key.
constexpr std::size_t bytes_per_row = 192;

} // namespace

batch_plan::batch_plan(const store& of, const current_state& state, const write_batch& batch)
    : store_(of), state_(state), memory_(batch.bytes() + batch.size() * bytes_per_row + 1) {
    batch.for_each([&](const write_batch::operation& operation) {
        operation.is_put ? apply_put(operation) : apply_erase(operation);
    });
}

void batch_plan::apply_put(const write_batch::operation& operation) {
    const row_place place{operation.table.value, operation.id};
    const std::size_t size = row_size(operation.record, operation.keys);
    std::byte* joined = take(size);
    join_row(joined, operation.record, operation.keys);
    const bytes_view row(joined, size);
    const auto before = operation.is_new ? std::nullopt : stored(place);
    if (before && same(before->record(), row)) {
        ++unchanged;
        return;
    }
    if (before) drop_keys(place, before->record());
    for (const secondary_key& key : operation.keys)
        if (operation.is_new)
            keys_[{place.table, key.index, key.bytes}] = place.id;
        else
            take_key(place, key);
    ++put;
    bytes += size;
    record_bytes += operation.record.size();
    if (!before) grow(place.table, 1);
    rows_[place] = row;
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

std::byte* batch_plan::take(std::size_t size) {
    return static_cast<std::byte*>(memory_.allocate(size, 1));
}

// What the batch did so far hides what the store holds.
std::optional<pinned_row> batch_plan::stored(row_place place) const {
    const auto planned = rows_.find(place);
    if (planned != rows_.end()) {
        if (!planned->second) return std::nullopt;
        return pinned_row(place.id, *planned->second, nullptr); // which the plan keeps
    }
    if (place.id >= state_.first_unused({place.table})) return std::nullopt;
    return state_.stored({place.table}, place.id);
}

std::optional<std::uint32_t> batch_plan::owner(const key_place& place) const {
    const auto planned = keys_.find(place);
    if (planned != keys_.end()) return planned->second;
    return state_.owner({place.table}, place.index, place.key);
}

// The keys are copied, since the row they stand in is only held for the moment.
void batch_plan::drop_keys(row_place place, bytes_view row) {
    const auto keys = keys_of(row);
    if (!keys)
        throw damaged_error(store_.name() + ": row " + std::to_string(place.id) + " of table \"" +
                            store_.tables()[place.table].name +
                            "\" is malformed; restore the archive from a backup or rebuild it by a "
                            "replay");
    for (const secondary_key& key : *keys) {
        std::byte* copy = take(key.bytes.size());
        std::ranges::copy(key.bytes, copy);
        keys_[{place.table, key.index, {copy, key.bytes.size()}}] = std::nullopt;
    }
}

void batch_plan::take_key(row_place place, const secondary_key& key) {
    const key_place at{place.table, key.index, key.bytes};
    const auto before = owner(at);
    if (before && *before != place.id) refuse(at, *before, place.id);
    keys_[at] = place.id;
}

bool batch_plan::replaces_rows() const noexcept {
    std::int64_t all = 0;
    for (const auto& growth : growth_)
        all += growth.second;
    return all != static_cast<std::int64_t>(rows_.size());
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
