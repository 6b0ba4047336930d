#pragma once

#include <archive/detail/hand_over_step.hpp>
#include <archive/lifecycle.hpp>
#include <pool_allocator/trace.hpp>

#include <array>
#include <string>
#include <utility>

namespace chainbase::archive {

namespace detail {

/// The first queue entry that is not among `leaving`.
template <typename Departure>
auto behind(const std::vector<Departure>& leaving) {
    auto last = leaving.back().from_queue->id;
    ++last.value;
    return last;
}

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
      table_(rows.open_table(name_, archived_keys::names())), filter_(state, name_), behind_(rows) {
    require_rows();
    if (filter_.empty() && archived() != 0 && state_.memory().writable()) fill_filter();
}

template <archivable T>
database& lifecycle<T>::registered(database& state, const std::string& name) {
    static_cast<void>(state.template count<T>()); // throws unless T is registered
    state.template add_type<entry>(name + ".retired");
    return state;
}

/// The store may be ahead of the state, never behind it (what a reader sees of it may be).
template <archivable T>
void lifecycle<T>::require_rows() {
    if (!rows_.outlives_process() || !state_.memory().writable()) return;
    compare_with_store();
    const std::uint64_t kept = rows_.count(table_);
    if (kept < archived())
        throw damaged_error(rows_.name() + ": table \"" + name_ + "\" has " + std::to_string(kept) +
                            " rows, and the state handed over " + std::to_string(archived()) +
                            "; put the archive in place that belongs to this state, or replay into "
                            "a new folder");
}

/// A state of a version that had no filter yet.
template <archivable T>
void lifecycle<T>::fill_filter() {
    auto all = state_.start_session();
    std::uint64_t before = 0;
    for (std::uint32_t number = 0; number < archived_keys::count; ++number)
        if (archived_keys::is_unique_key[number])
            for (key_cursor at = rows_.keys(table_, number); at.valid(); at.next())
                filter_.add(detail::filter_layout::hash(number, at.key()), before++);
    all.squash();
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
auto lifecycle<T>::departure_of(const entry& one) const -> departure {
    if (const T* object = state_.find(one.object)) return {&one, object};
    throw usage_error(name_ + " " + std::to_string(one.object.value) +
                      ": was removed after it was retired; leave retired objects alone");
}

template <archivable T>
auto lifecycle<T>::departures(revision_number up_to, std::size_t limit) const
    -> std::vector<departure> {
    std::vector<departure> all;
    for (const entry& one : state_.template view<entry, detail::by_revision>()) {
        if (one.revision > up_to || all.size() == limit) break;
        all.push_back(departure_of(one));
    }
    return all;
}

template <archivable T>
void lifecycle<T>::put(const departure& leaving, row_buffers& row, write_batch& batch) const {
    const T& object = *leaving.object;
    if (detail::content_hash(object, row.record) != leaving.from_queue->content)
        throw usage_error(name_ + " " + std::to_string(object.id.value) +
                          ": was changed after it was retired; nothing was written. Change objects "
                          "of this type through its life cycle");
    bool is_new = is_exact_;
    archived_keys::each(object, [&](std::uint32_t number, auto&& append) {
        byte_buffer& key = row.keys[number];
        key.clear();
        append(key);
        row.by_number[number] = {number, key};
        if (archived_keys::is_unique_key[number])
            is_new = is_new && !filter_.may_have(detail::filter_layout::hash(number, key));
    });
    if (is_new)
        batch.add(table_, object.id.value, row.record, row.by_number);
    else
        batch.put(table_, object.id.value, row.record, row.by_number);
}

template <archivable T>
void lifecycle<T>::remember_keys(const T& leaving, byte_buffer& key) {
    std::uint64_t before = archived() * archived_keys::unique_count;
    archived_keys::each_unique(leaving, [&](std::uint32_t number, auto&& append) {
        key.clear();
        append(key);
        filter_.add(detail::filter_layout::hash(number, key), before++);
    });
}

template <archivable T>
void lifecycle<T>::take_out(const departure& leaving, byte_buffer& key) {
    remember_keys(*leaving.object, key);
    state_.remove(*leaving.object);
    fault::reach(fault::step::object_removed);
    state_.remove(*leaving.from_queue);
    fault::reach(fault::step::entry_removed);
}

template <archivable T>
write_batch lifecycle<T>::rows_of(const std::vector<departure>& leaving) {
    const trace::span timed(detail::encoding);
    if (!is_exact_) compare_with_store();
    const stopwatch watch;
    write_batch batch;
    row_buffers row;
    for (const departure& one : leaving)
        put(one, row, batch);
    rows_.stats().encodings.record(watch.elapsed());
    fault::reach(fault::step::before_write);
    return batch;
}

/// All of them leave, or none.
template <archivable T>
void lifecycle<T>::take_out_all(const std::vector<departure>& leaving) {
    fault::reach(fault::step::after_write);
    const trace::span timed(detail::handing_over);
    const stopwatch watch;
    auto all = state_.start_session();
    byte_buffer key;
    for (const departure& one : leaving)
        take_out(one, key);
    all.squash();
    rows_.stats().objects_handed_over.add(leaving.size());
    rows_.stats().removals.record(watch.elapsed());
    fault::reach(fault::step::finished);
}

/// What a pop brings back later is written already, and not once more.
template <archivable T>
void lifecycle<T>::compare_with_store() {
    is_exact_ = !rows_.is_of_the_state() && rows_.count(table_) == archived();
}

template <archivable T>
std::size_t lifecycle<T>::hand_over(revision_number irreversible, std::size_t limit) {
    require_irreversible(irreversible);
    if (!rows_.keeps_rows()) return 0;
    const std::size_t before = take_out_written();
    const std::vector<departure> leaving = departures(irreversible, limit);
    if (leaving.empty()) return before;
    rows_.write(rows_of(leaving));
    if (!rows_.is_of_the_state()) written_ = detail::behind(leaving); // else a pop takes rows back
    take_out_all(leaving);
    return before + leaving.size();
}

template <archivable T>
std::size_t lifecycle<T>::hand_over_behind(revision_number irreversible, std::size_t batch) {
    constexpr std::size_t patience = 4;
    if (rows_.is_of_the_state() || !rows_.keeps_rows()) return hand_over(irreversible, batch);
    require_irreversible(irreversible);
    if (behind_.is_running() && waiting() / patience < batch) return 0;
    const std::size_t left = take_out_written();
    if (waiting() < batch) return left;
    const std::vector<departure> leaving = departures(irreversible, patience * batch);
    if (leaving.size() < batch || leaving.empty()) return left;
    behind_.start(rows_of(leaving)); // may throw: then nothing is being written
    given_ = detail::behind(leaving);
    return left;
}

/// Those that a pop brought back, too: they are not written once more.
template <archivable T>
std::size_t lifecycle<T>::take_out_written() {
    if (behind_.is_started()) {
        behind_.finish();
        written_ = given_;
    }
    std::vector<departure> leaving;
    for (const entry& one : state_.template view<entry, detail::by_revision>()) {
        if (one.id >= written_) break;
        leaving.push_back(departure_of(one));
    }
    if (!leaving.empty()) take_out_all(leaving);
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
    const sampled_stopwatch watch;
    if (const T* object = state_.find(id)) {
        rows_.stats().found_in_memory(watch);
        return found<T>(*object);
    }
    return believed(rows_.find(table_, id.value));
}

template <archivable T>
template <typename Tag, typename... V>
std::optional<found<T>> lifecycle<T>::find(const V&... values) const {
    constexpr auto number = static_cast<std::uint32_t>(archived_keys::template number<Tag>);
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(is_unique(key::kind), "ask for the range() of a key that is not unique");
    static_assert(sizeof...(V) == key::parts::count, "a row is found by its whole key");
    const sampled_stopwatch watch;
    if (const T* object = state_.template find<T, Tag>(values...)) {
        rows_.stats().found_in_memory(watch);
        return found<T>(*object);
    }
    byte_buffer bytes;
    const auto left_memory = [&] {
        if (archived() == 0 || !key::parts::can_hold(values...)) return false;
        detail::append_key_of<key>(bytes, key::parts::make_lookup(values...));
        if (filter_.empty()) return true; // for a reader of a state that had none yet
        return filter_.may_have(detail::filter_layout::hash(number, bytes));
    };
    if (left_memory()) return believed(rows_.find(table_, number, bytes));
    rows_.stats().missed_for_sure(watch);
    return std::nullopt;
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
