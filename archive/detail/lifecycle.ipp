#pragma once

#include <archive/detail/hand_over_step.hpp>
#include <archive/lifecycle.hpp>
#include <pool_allocator/trace.hpp>

#include <array>
#include <string>
#include <utility>

namespace chainbase::archive {

namespace detail {

inline const trace::site encoding("archive.encode");
inline const trace::site handing_over("archive.hand_over");

template <object_type T>
std::uint64_t content_hash(const T& object, byte_buffer& record) {
    record.clear();
    encode(object, record);
    return XXH3_64bits(record.data(), record.size());
}

} // namespace detail

template <archivable T>
lifecycle<T>::lifecycle(database& state, store& rows, std::string name)
    : state_(registered(state, name)), rows_(rows), name_(std::move(name)),
      table_(rows.open_table(name_, archived_keys::names())), behind_(rows) {
    require_rows();
}

template <archivable T>
database& lifecycle<T>::registered(database& state, const std::string& name) {
    static_cast<void>(state.template count<T>()); // throws unless T is registered
    state.template add_type<entry>(name + ".retired");
    return state;
}

/// The store may be ahead of the state, never behind it (what a reader sees of it may be).
template <archivable T>
void lifecycle<T>::require_rows() const {
    if (!rows_.outlives_process() || !state_.memory().writable()) return;
    const std::uint64_t kept = rows_.count(table_);
    if (kept < archived())
        throw damaged_error(rows_.name() + ": table \"" + name_ + "\" has " + std::to_string(kept) +
                            " rows, and the state handed over " + std::to_string(archived()) +
                            "; put the archive in place that belongs to this state, or replay into "
                            "a new folder");
}

// --- the end of a life ---

template <archivable T>
void lifecycle<T>::retire(const T& object) {
    const auto refuse = [&](const char* why) {
        throw usage_error(name_ + " " + std::to_string(object.id.value) +
                          ": cannot be retired: " + why);
    };
    if (state_.find(object.id) != &object) refuse("it is not in this state (a copy, or removed)");
    if (is_retired(object.id)) refuse("it is retired already");
    byte_buffer record;
    state_.template create<entry>([&](entry& one) {
        one.object = object.id;
        one.revision = state_.revision();
        one.content = detail::content_hash(object, record);
    });
}

template <archivable T>
template <typename Change>
void lifecycle<T>::modify(const T& object, Change&& change) {
    if (is_retired(object.id))
        throw usage_error(name_ + " " + std::to_string(object.id.value) +
                          ": is retired and does not change any more");
    state_.modify(object, std::forward<Change>(change));
}

template <archivable T>
void lifecycle<T>::require_irreversible(revision_number revision) const {
    if (revision <= state_.committed_revision()) return;
    throw usage_error(name_ + ": hand_over(" + std::to_string(revision) + "): revisions above " +
                      std::to_string(state_.committed_revision()) +
                      " can still be undone; commit them first");
}

template <archivable T>
auto lifecycle<T>::departures(revision_number up_to, std::size_t limit) const
    -> std::vector<departure> {
    std::vector<departure> all;
    for (const entry& one : state_.template view<entry, detail::by_revision>()) {
        if (one.revision > up_to || all.size() == limit) break;
        all.push_back({&one, state_.find(one.object)});
    }
    return all;
}

template <archivable T>
void lifecycle<T>::put(const departure& leaving, write_batch& batch) const {
    const auto [from_queue, object] = leaving;
    const std::string who = name_ + " " + std::to_string(from_queue->object.value);
    if (object == nullptr) {
        if (rows_.contains(table_, from_queue->object.value)) return;
        throw usage_error(who + ": was removed after it was retired, and has no row in " +
                          rows_.name() + "; leave retired objects alone");
    }
    byte_buffer record;
    if (detail::content_hash(*object, record) != from_queue->content)
        throw usage_error(who + ": was changed after it was retired; nothing was written. Change "
                                "objects of this type through its life cycle");
    std::array<byte_buffer, archived_keys::count> keys;
    std::array<secondary_key, archived_keys::count> by_number;
    archived_keys::each(*object, [&](std::uint32_t number, auto&& append) {
        append(keys[number]);
        by_number[number] = {number, keys[number]};
    });
    batch.put(table_, object->id.value, record, by_number);
}

template <archivable T>
void lifecycle<T>::take_out(const departure& leaving) {
    if (leaving.object) state_.remove(*leaving.object);
    fault::reach(fault::step::object_removed);
    state_.remove(*leaving.from_queue);
    fault::reach(fault::step::entry_removed);
}

template <archivable T>
write_batch lifecycle<T>::rows_of(const std::vector<departure>& leaving) const {
    const trace::span timed(detail::encoding);
    write_batch batch;
    for (const departure& one : leaving)
        put(one, batch);
    fault::reach(fault::step::before_write);
    return batch;
}

/// All of them leave, or none.
template <archivable T>
void lifecycle<T>::take_out_all(const std::vector<departure>& leaving) {
    fault::reach(fault::step::after_write);
    const trace::span timed(detail::handing_over);
    auto all = state_.start_session();
    for (const departure& one : leaving)
        take_out(one);
    all.squash();
    fault::reach(fault::step::finished);
}

template <archivable T>
std::size_t lifecycle<T>::hand_over(revision_number irreversible, std::size_t limit) {
    require_irreversible(irreversible);
    if (!rows_.keeps_rows()) return 0;
    const std::size_t before = take_out_written();
    const std::vector<departure> leaving = departures(irreversible, limit);
    if (leaving.empty()) return before;
    rows_.write(rows_of(leaving));
    take_out_all(leaving);
    return before + leaving.size();
}

template <archivable T>
std::size_t lifecycle<T>::hand_over_behind(revision_number irreversible, std::size_t limit) {
    constexpr std::size_t patience = 4;
    if (rows_.is_of_the_state() || !rows_.keeps_rows()) return hand_over(irreversible, limit);
    require_irreversible(irreversible);
    if (behind_.is_running() && waiting() / patience < limit) return 0;
    const std::size_t left = take_out_written();
    const std::vector<departure> leaving = departures(irreversible, limit);
    if (leaving.empty()) return left;
    std::vector<id<entry>> entries;
    for (const departure& one : leaving)
        entries.push_back(one.from_queue->id);
    behind_.start(rows_of(leaving)); // may throw: then nothing is being written
    being_written_ = std::move(entries);
    return left;
}

/// What was written is of revisions that cannot be undone, so it is still in the queue.
template <archivable T>
std::size_t lifecycle<T>::take_out_written() {
    if (!behind_.is_started()) return 0;
    const std::vector<id<entry>> written = std::exchange(being_written_, {});
    behind_.finish();
    std::vector<departure> leaving;
    for (const id<entry> one : written)
        leaving.push_back({&state_.get(one), state_.find(state_.get(one).object)});
    take_out_all(leaving);
    return leaving.size();
}

// --- lookups ---

template <archivable T>
std::optional<found<T>> lifecycle<T>::believed(std::optional<pinned_row> row) const {
    if (!row || row->id() >= state_.template next_id<T>().value) return std::nullopt;
    // Under a key that the object in memory has not (yet): a row of a later state.
    if (state_.find(id<T>(row->id()))) return std::nullopt;
    return found<T>(*std::move(row));
}

template <archivable T>
std::optional<found<T>> lifecycle<T>::find(id<T> id) const {
    const stopwatch watch;
    if (const T* object = state_.find(id)) {
        rows_.stats().record(lookup::hit_in_memory, watch.elapsed());
        return found<T>(*object);
    }
    return believed(rows_.find(table_, id.value));
}

template <archivable T>
template <typename Tag, typename... V>
std::optional<found<T>> lifecycle<T>::find(const V&... values) const {
    constexpr std::size_t number = archived_keys::template number<Tag>;
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(is_unique(key::kind), "ask for the range() of a key that is not unique");
    static_assert(sizeof...(V) == key::parts::count, "a row is found by its whole key");
    const stopwatch watch;
    if (const T* object = state_.template find<T, Tag>(values...)) {
        rows_.stats().record(lookup::hit_in_memory, watch.elapsed());
        return found<T>(*object);
    }
    if (!key::parts::can_hold(values...)) return std::nullopt;
    byte_buffer bytes;
    detail::append_key_of<key>(bytes, key::parts::make_lookup(values...));
    return believed(rows_.find(table_, static_cast<std::uint32_t>(number), bytes));
}

template <archivable T>
template <typename Tag, typename... V>
object_cursor<T, Tag> lifecycle<T>::range(const V&... values) const {
    constexpr auto number = static_cast<std::uint32_t>(archived_keys::template number<Tag>);
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(!is_hashed(key::kind), "a hashed key has no order");
    const auto in_memory = state_.template view<T, Tag>();
    byte_buffer prefix;
    if constexpr (sizeof...(V) == 0) {
        return {
            state_, rows_, table_, in_memory.begin(), in_memory.end(), rows_.keys(table_, number),
            prefix};
    } else {
        detail::append_key_of<key>(prefix, key::parts::make_bound(values...));
        const auto [first, last] = in_memory.equal_range(values...);
        return {state_, rows_, table_, first, last, rows_.keys(table_, number, prefix), prefix};
    }
}

template <archivable T>
template <typename Tag, typename... V>
object_cursor<T, Tag> lifecycle<T>::from(const V&... values) const {
    constexpr auto number = static_cast<std::uint32_t>(archived_keys::template number<Tag>);
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(!is_hashed(key::kind), "a hashed key has no order");
    byte_buffer first;
    detail::append_key_of<key>(first, key::parts::make_bound(values...));
    const auto in_memory = state_.template view<T, Tag>();
    return {state_,
            rows_,
            table_,
            in_memory.lower_bound(values...),
            in_memory.end(),
            rows_.keys(table_, number, first),
            {}};
}

/// The rows in front of `below`; the cursor then stands behind it, since memory goes first.
template <archivable T>
template <typename Visitor>
void lifecycle<T>::visit_rows(row_cursor& rows, std::uint32_t below, Visitor& visit) const {
    for (; rows.valid() && rows.id() < below; rows.next())
        visit(found<T>(pinned_row(rows.id(), rows.record(), nullptr)));
    if (rows.valid() && rows.id() == below) rows.next();
}

template <archivable T>
template <typename Visitor>
void lifecycle<T>::for_each(Visitor&& visit) const {
    row_cursor rows = rows_.rows(table_);
    for (const T& object : state_.template objects<T>()) {
        visit_rows(rows, object.id.value, visit);
        visit(found<T>(object));
    }
    visit_rows(rows, state_.template next_id<T>().value, visit);
}

} // namespace chainbase::archive
