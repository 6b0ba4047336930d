#include <archive/record/integers.hpp>
#include <tools/sink/changes.hpp>
#include <tools/sink/placement.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::sink {

namespace {

using feed::entry;
using feed::object_change;

std::uint32_t id_in(const archive::bytes_view record, std::size_t at) {
    if (record.size() < at + sizeof(std::uint32_t))
        throw damaged_error("the feed: a record of a removal is too short");
    return archive::detail::load_little<std::uint32_t>(record.data() + at);
}

} // namespace

std::optional<removed_object> removed_by(const known_tables& tables, const entry& in,
                                         const object_change& one) {
    const auto removal = tables.removal_by(one.type);
    if (!removal) return std::nullopt;
    const bool was_there = !in.before(one).empty();
    if (!tables.of(removal->target) || was_there == !in.after(one).empty()) return std::nullopt;
    const std::uint32_t id = id_in(was_there ? in.before(one) : in.after(one), removal->id_at);
    const auto place = [](const object_change& each) { return std::pair(each.type, each.id); };
    if (std::ranges::binary_search(in.changes, std::pair(removal->target, id), {}, place))
        return std::nullopt;
    return removed_object{removal->target, id, was_there};
}

bool changes::stands_alone(const known_tables& tables, const entry& one) {
    return std::ranges::any_of(one.changes, [&](const object_change& each) {
        return removed_by(tables, one, each).has_value();
    });
}

void changes::add(const entry& one) {
    if (!has_begun_) begin_with(one);
    if (one.what == entry::kind::irreversible) return empty_removed(one.revision);
    for (const object_change& each : one.changes)
        if (const auto removed = removed_by(tables_, one, each))
            move_removed(one, *removed);
        else if (tables_.of(each.type))
            change(one, each);
}

/// A row that changed its place is erased where it was.
void changes::change(const entry& in, const object_change& one) {
    const table& to = *tables_.of(one.type);
    // An archived object is one still.
    const archive::bytes_view now =
        one.what == object_change::kind::archived ? in.before(one) : in.after(one);
    const bool is_here_now = !now.empty() && is_here(to, now);
    if (is_here_now)
        put(of(to), one.id, now);
    else if (now.empty() || count_ > 1) {
        const archive::bytes_view before = in.before(one);
        if (before.empty() || !is_here(to, before)) return;
        of(to).changes.push_back({row_change::kind::erase, one.id, 0, 0});
    } else
        return;
    ++rows_;
    if (ddl_.has_history(to)) note_history(in, one, to);
}

void changes::put(table_batch& to, std::uint32_t id, archive::bytes_view record) {
    const std::size_t begin = gathered_.records.size();
    archive::append(gathered_.records, record);
    to.changes.push_back({row_change::kind::put, id, begin, gathered_.records.size()});
}

/// What is archived, or back from there, is as it was.
void changes::note_history(const entry& in, const object_change& one, const table& to) {
    using kind = object_change::kind;
    if (one.what == kind::archived || one.what == kind::unarchived) return;
    table_batch& batch = of(to);
    const row_change& change = batch.changes.back();
    const auto what = in.what == entry::kind::pop            ? history_change::kind::undo
                      : change.what == row_change::kind::put ? history_change::kind::begin
                                                             : history_change::kind::end;
    batch.history.push_back({what, one.id, in.revision, in.serial, change.begin, change.end});
}

void changes::move_removed(const entry& in, const removed_object& one) {
    const table& to = *tables_.of(one.type);
    of(to).changes.push_back(
        {one.is_back ? row_change::kind::restore : row_change::kind::hide, one.id, 0, 0});
    if (ddl_.has_history(to))
        of(to).history.push_back(
            {one.is_back ? history_change::kind::undo : history_change::kind::end, one.id,
             in.revision, in.serial, 0, 0});
    ++rows_;
    if (!one.is_back) removed_[&to] = in.revision;
}

/// Rows may have moved in the blocks before.
void changes::begin_with(const entry& first) {
    has_begun_ = first.what != entry::kind::irreversible;
    for (const table* one : tables_.all())
        if (tables_.has_removed(*one)) removed_[one] = has_begun_ ? first.revision : INT64_MAX;
}

/// What was removed up to this block does not come back.
void changes::empty_removed(revision_number irreversible) {
    for (const auto& [one, newest] : removed_)
        of(*one).irreversible = irreversible;
    std::erase_if(removed_, [&](const auto& one) { return one.second <= irreversible; });
}

table_batch& changes::of(const table& one) {
    const auto [place, is_new] = places_.try_emplace(&one, gathered_.tables.size());
    if (is_new) gathered_.tables.push_back({&one, {}, {}});
    return gathered_.tables[place->second];
}

bool changes::is_here(const table& of, archive::bytes_view record) {
    if (count_ == 1) return true;
    const auto reader = readers_.try_emplace(&of, of).first;
    const std::vector<value>& row = reader->second.read(record);
    return shard_of(row[tables_.distribution(of)], count_) == number_;
}

batch changes::take() {
    for (table_batch& one : gathered_.tables) {
        std::ranges::stable_sort(one.changes, {}, &row_change::id);
        auto to = one.changes.begin();
        for (auto at = one.changes.begin(); at != one.changes.end(); ++at)
            if (std::next(at) == one.changes.end() || std::next(at)->id != at->id) *to++ = *at;
        one.changes.erase(to, one.changes.end());
    }
    places_.clear();
    rows_ = 0;
    return std::exchange(gathered_, {});
}

} // namespace chainbase::sink
