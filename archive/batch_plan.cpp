#include <archive/batch_plan.hpp>
#include <archive/record/integers.hpp>
#include <archive/write_batch.hpp>
#include <pool_allocator/base/error.hpp>

#include <algorithm>
#include <array>
#include <tuple>

namespace chainbase::archive::detail {

namespace {

/// The target and the number of an operation in one value that sorts by table, id, number.
struct place {
    std::uint64_t row;
    std::size_t number;
    friend auto operator<=>(const place&, const place&) = default;
};

std::uint64_t row_of(const write_batch::operation& operation) {
    return std::uint64_t{operation.table().value} << 32 | operation.id();
}

/// The first bytes of a key as a number that orders as memcmp does.
std::uint64_t begin_of(bytes_view key) {
    std::array<std::byte, sizeof(std::uint64_t)> first{};
    std::ranges::copy(key.first(std::min(key.size(), first.size())), first.begin());
    return load_big<std::uint64_t>(first.data());
}

bool is_of_one_key(const auto& a, const auto& b) {
    return a.begin == b.begin && a.table == b.table && a.index == b.index && same(a.key, b.key);
}

} // namespace

batch_plan::batch_plan(const store& of, const current_state& state, const write_batch& batch)
    : store_(of), state_(state),
      memory_(batch.size() * (sizeof(row_change) + sizeof(place)) +
              batch.key_count() * (sizeof(key_step) + sizeof(key_change) + sizeof(std::uint32_t)) +
              1) {
    decide_rows(batch);
    decide_keys();
}

// --- rows ---

void batch_plan::decide_rows(const write_batch& batch) {
    std::pmr::vector<place> places(&memory_);
    places.reserve(batch.size());
    for (std::size_t number = 0; number < batch.size(); ++number)
        places.push_back({row_of(batch[number]), number});
    std::ranges::sort(places);
    rows_.reserve(batch.size());
    steps_.reserve(batch.key_count());
    for (std::size_t first = 0, last = 0; first < places.size(); first = ++last) {
        while (last + 1 < places.size() && places[last + 1].row == places[first].row)
            ++last;
        decide_row({batch[places[last].number], batch[places[first].number].is_new()});
    }
}

void batch_plan::decide_row(const outcome& row) {
    const write_batch::operation& last = row.operation;
    const auto before = stored(row);
    if (last.is_put()) return put_row(row, before);
    if (!before) return;
    drop_keys(last, before->record());
    ++erased;
    --growth_[last.table().value];
    replaces_ = true;
    rows_.push_back({last.table().value, last.id(), std::nullopt});
}

void batch_plan::put_row(const outcome& row, const std::optional<pinned_row>& before) {
    const write_batch::operation& last = row.operation;
    if (before && same(before->record(), last.row())) {
        ++unchanged;
        return;
    }
    if (before) drop_keys(last, before->record());
    for (const secondary_key& key : last.keys())
        add_step(last, key, true, last.is_new());
    ++put;
    bytes += last.row().size();
    record_bytes += last.record_bytes();
    if (before)
        replaces_ = true;
    else
        ++growth_[last.table().value];
    rows_.push_back({last.table().value, last.id(), last.row()});
}

std::optional<pinned_row> batch_plan::stored(const outcome& row) const {
    const table_id table = row.operation.table();
    const std::uint32_t id = row.operation.id();
    if (row.is_new || id >= state_.first_unused(table)) return std::nullopt;
    return state_.stored(table, id);
}

// --- keys ---

// The keys are copied, since the row that holds them is pinned only briefly.
void batch_plan::drop_keys(const write_batch::operation& of, bytes_view row) {
    const auto keys = keys_of(row);
    if (!keys)
        throw damaged_error(store_.name() + ": row " + std::to_string(of.id()) + " of table \"" +
                            store_.tables()[of.table().value].name +
                            "\" is malformed; restore the archive from a backup or rebuild it by a "
                            "replay");
    for (const secondary_key& key : *keys)
        add_step(of, {key.index, keep(key.bytes)}, false, false);
}

void batch_plan::add_step(const write_batch::operation& of, const secondary_key& key, bool is_taken,
                          bool is_new) {
    steps_.push_back(
        {of.table().value, key.index, begin_of(key.bytes), key.bytes, of.id(), is_taken, is_new});
}

// Keys that a row loses sort before those that it gets.
void batch_plan::decide_keys() {
    std::ranges::sort(steps_, [](const key_step& a, const key_step& b) {
        const auto of_key = [](const key_step& s) { return std::tie(s.table, s.index, s.begin); };
        if (of_key(a) != of_key(b)) return of_key(a) < of_key(b);
        if (const auto order = as_text(a.key) <=> as_text(b.key); order != 0) return order < 0;
        return std::tie(a.id, a.is_taken) < std::tie(b.id, b.is_taken);
    });
    keys_.reserve(steps_.size());
    for (auto first = steps_.begin(); first != steps_.end();) {
        auto end = first + 1;
        while (end != steps_.end() && is_of_one_key(*first, *end))
            ++end;
        decide_key({first, end});
        first = end;
    }
}

void batch_plan::decide_key(std::span<const key_step> steps) {
    const key_step& key = steps.front();
    row_ids ids;
    if (!std::ranges::all_of(steps, &key_step::is_new))
        ids = state_.owners({key.table}, key.index, key.key);
    const row_ids before = ids;
    for (const key_step& step : steps) {
        const auto at = std::ranges::lower_bound(ids, step.id, std::greater<>());
        const bool is_there = at != ids.end() && *at == step.id;
        if (step.is_taken && !is_there) ids.insert(at, step.id);
        if (!step.is_taken && is_there) ids.erase(at);
    }
    if (ids == before) return;
    replaces_ |= !before.empty();
    keys_.push_back({key.table, key.index, key.key, keep(std::span<const std::uint32_t>(ids))});
}

std::span<const std::uint32_t> batch_plan::keep(std::span<const std::uint32_t> ids) {
    auto* const copy =
        static_cast<std::uint32_t*>(memory_.allocate(ids.size_bytes(), alignof(std::uint32_t)));
    std::ranges::copy(ids, copy);
    return {copy, ids.size()};
}

bytes_view batch_plan::keep(bytes_view bytes) {
    auto* const copy = static_cast<std::byte*>(memory_.allocate(bytes.size(), 1));
    std::ranges::copy(bytes, copy);
    return {copy, bytes.size()};
}

} // namespace chainbase::archive::detail
