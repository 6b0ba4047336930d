#pragma once

#include <archive/detail/hand_over_step.hpp>
#include <archive/key.hpp>
#include <archive/lifecycle.hpp>
#include <chainbase/schema.hpp>
#include <pool_allocator/trace.hpp>

#include <boost/mp11/list.hpp>

#include <array>
#include <string>
#include <utility>

namespace chainbase::archive {

namespace detail {

inline const trace::site encoding("archive.encode");
inline const trace::site handing_over("archive.hand_over");

/// The store's key for the values that `from` (an object or a lookup value) has for key Key.
template <typename Key, typename From>
byte_buffer key_of(const From& from) {
    using parts = typename Key::parts;
    byte_buffer key;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto one = [&](auto i) {
            const auto& part = parts::template get<i>(from); // named: it may be a temporary
            const auto& value = chainbase::detail::comparable(part);
            if constexpr (parts::template part<i>::is_descending)
                append_key(key, descending(value));
            else
                append_key(key, value);
        };
        (one(std::integral_constant<std::size_t, I>()), ...);
    }(std::make_index_sequence<parts::count>());
    return key;
}

template <object_type T>
std::uint64_t content_hash(const T& object, byte_buffer& record) {
    record.clear();
    encode(object, record);
    return XXH3_64bits(record.data(), record.size());
}

} // namespace detail

template <object_type T, typename... Tags>
lifecycle<T, Tags...>::lifecycle(database& state, store& rows, std::string name)
    : state_(registered(state, name)), rows_(rows), name_(std::move(name)),
      table_(rows.open_table(name_, {key_name<key_called<T, Tags>>()...})), behind_(rows) {
    static_assert((is_unique(key_called<T, Tags>::kind) && ...),
                  "a row is found by keys that are unique");
    require_rows();
}

template <object_type T, typename... Tags>
database& lifecycle<T, Tags...>::registered(database& state, const std::string& name) {
    static_cast<void>(state.template count<T>()); // throws unless T is registered
    state.template add_type<entry>(name + ".retired");
    return state;
}

/// The store may be ahead of the state, never behind it (what a reader sees of it may be).
template <object_type T, typename... Tags>
void lifecycle<T, Tags...>::require_rows() const {
    if (!rows_.outlives_process() || !state_.memory().writable()) return;
    const std::uint64_t kept = rows_.count(table_);
    if (kept < archived())
        throw damaged_error(rows_.name() + ": table \"" + name_ + "\" has " + std::to_string(kept) +
                            " rows, and the state handed over " + std::to_string(archived()) +
                            "; put the archive in place that belongs to this state, or replay into "
                            "a new folder");
}

// --- the end of a life ---

template <object_type T, typename... Tags>
void lifecycle<T, Tags...>::retire(const T& object) {
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

template <object_type T, typename... Tags>
template <typename Change>
void lifecycle<T, Tags...>::modify(const T& object, Change&& change) {
    if (is_retired(object.id))
        throw usage_error(name_ + " " + std::to_string(object.id.value) +
                          ": is retired and does not change any more");
    state_.modify(object, std::forward<Change>(change));
}

template <object_type T, typename... Tags>
void lifecycle<T, Tags...>::require_irreversible(revision_number revision) const {
    if (revision <= state_.committed_revision()) return;
    throw usage_error(name_ + ": hand_over(" + std::to_string(revision) + "): revisions above " +
                      std::to_string(state_.committed_revision()) +
                      " can still be undone; commit them first");
}

template <object_type T, typename... Tags>
auto lifecycle<T, Tags...>::departures(revision_number up_to, std::size_t limit) const
    -> std::vector<departure> {
    std::vector<departure> all;
    for (const entry& one : state_.template view<entry, detail::by_revision>()) {
        if (one.revision > up_to || all.size() == limit) break;
        all.push_back({&one, state_.find(one.object)});
    }
    return all;
}

template <object_type T, typename... Tags>
void lifecycle<T, Tags...>::put(const departure& leaving, write_batch& batch) const {
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
    const std::array<byte_buffer, sizeof...(Tags)> keys{
        detail::key_of<key_called<T, Tags>>(*object)...};
    std::array<secondary_key, sizeof...(Tags)> by_number;
    for (std::size_t i = 0; i < keys.size(); ++i)
        by_number[i] = {static_cast<std::uint32_t>(i), keys[i]};
    batch.put(table_, object->id.value, record, by_number);
}

template <object_type T, typename... Tags>
void lifecycle<T, Tags...>::take_out(const departure& leaving) {
    if (leaving.object) state_.remove(*leaving.object);
    fault::reach(fault::step::object_removed);
    state_.remove(*leaving.from_queue);
    fault::reach(fault::step::entry_removed);
}

template <object_type T, typename... Tags>
write_batch lifecycle<T, Tags...>::rows_of(const std::vector<departure>& leaving) const {
    const trace::span timed(detail::encoding);
    write_batch batch;
    for (const departure& one : leaving)
        put(one, batch);
    fault::reach(fault::step::before_write);
    return batch;
}

/// All of them leave, or none.
template <object_type T, typename... Tags>
void lifecycle<T, Tags...>::take_out_all(const std::vector<departure>& leaving) {
    fault::reach(fault::step::after_write);
    const trace::span timed(detail::handing_over);
    auto all = state_.start_session();
    for (const departure& one : leaving)
        take_out(one);
    all.squash();
    fault::reach(fault::step::finished);
}

template <object_type T, typename... Tags>
std::size_t lifecycle<T, Tags...>::hand_over(revision_number irreversible, std::size_t limit) {
    require_irreversible(irreversible);
    const std::size_t before = take_out_written();
    const std::vector<departure> leaving = departures(irreversible, limit);
    if (leaving.empty()) return before;
    rows_.write(rows_of(leaving));
    take_out_all(leaving);
    return before + leaving.size();
}

template <object_type T, typename... Tags>
std::size_t lifecycle<T, Tags...>::hand_over_behind(revision_number irreversible,
                                                    std::size_t limit) {
    constexpr std::size_t patience = 4;
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
template <object_type T, typename... Tags>
std::size_t lifecycle<T, Tags...>::take_out_written() {
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

template <object_type T, typename... Tags>
std::optional<found<T>> lifecycle<T, Tags...>::believed(std::optional<pinned_row> row) const {
    if (!row || row->id() >= state_.template next_id<T>().value) return std::nullopt;
    // Under a key that the object in memory has not (yet): a row of a later state.
    if (state_.find(id<T>(row->id()))) return std::nullopt;
    return found<T>(*std::move(row));
}

template <object_type T, typename... Tags>
std::optional<found<T>> lifecycle<T, Tags...>::find(id<T> id) const {
    const stopwatch watch;
    if (const T* object = state_.find(id)) {
        rows_.stats().record(lookup::hit_in_memory, watch.elapsed());
        return found<T>(*object);
    }
    return believed(rows_.find(table_, id.value));
}

template <object_type T, typename... Tags>
template <typename Tag, typename... V>
std::optional<found<T>> lifecycle<T, Tags...>::find(const V&... values) const {
    constexpr std::size_t number = boost::mp11::mp_find<lifecycle<T, Tags...>, Tag>::value - 1;
    static_assert(number < sizeof...(Tags), "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(sizeof...(V) == key::parts::count, "a row is found by its whole key");
    const stopwatch watch;
    if (const T* object = state_.template find<T, Tag>(values...)) {
        rows_.stats().record(lookup::hit_in_memory, watch.elapsed());
        return found<T>(*object);
    }
    if (!key::parts::can_hold(values...)) return std::nullopt;
    const auto bytes = detail::key_of<key>(key::parts::make_lookup(values...));
    return believed(rows_.find(table_, static_cast<std::uint32_t>(number), bytes));
}

/// The rows in front of `below`; the cursor then stands behind it, since memory goes first.
template <object_type T, typename... Tags>
template <typename Visitor>
void lifecycle<T, Tags...>::visit_rows(row_cursor& rows, std::uint32_t below,
                                       Visitor& visit) const {
    for (; rows.valid() && rows.id() < below; rows.next())
        visit(found<T>(pinned_row(rows.id(), rows.record(), nullptr)));
    if (rows.valid() && rows.id() == below) rows.next();
}

template <object_type T, typename... Tags>
template <typename Visitor>
void lifecycle<T, Tags...>::for_each(Visitor&& visit) const {
    row_cursor rows = rows_.rows(table_);
    for (const T& object : state_.template objects<T>()) {
        visit_rows(rows, object.id.value, visit);
        visit(found<T>(object));
    }
    visit_rows(rows, state_.template next_id<T>().value, visit);
}

} // namespace chainbase::archive
