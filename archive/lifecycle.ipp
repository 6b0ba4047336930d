#pragma once

#include <archive/fault_steps.hpp>
#include <archive/lifecycle.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <algorithm>
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
    return hash_of(record);
}

/// The object that a row belongs to, if there is one.
template <described T>
std::optional<found<T>> found_in(std::optional<pinned_row> row) {
    if (!row) return std::nullopt;
    return found<T>(*std::move(row));
}

} // namespace detail

template <archivable T>
lifecycle<T>::lifecycle(database& state, store& rows, std::string name)
    : state_(registered(state, name)), rows_(rows), name_(std::move(name)),
      table_(rows.open_table(name_, archived_keys::names())), filter_(state, name_),
      removed_(state, name_), behind_(rows) {
    require_rows();
    rows_.sync_before_checkpoints_of(state_);
}

template <archivable T>
database& lifecycle<T>::registered(database& state, const std::string& name) {
    static_cast<void>(state.template count<T>()); // throws unless T is registered
    state.template add_type<entry>(name + ".retired");
    return state;
}

/// The store may be ahead of the state, never behind it (a reader's view of it may be).
template <archivable T>
void lifecycle<T>::require_rows() {
    if (!rows_.outlives_process() || !state_.is_writable()) return;
    const std::uint64_t kept = rows_.count(table_);
    if (kept < handed_over())
        throw damaged_error(rows_.name() + ": table \"" + name_ + "\" has " + std::to_string(kept) +
                            " rows, and the state handed over " + std::to_string(handed_over()) +
                            "; put the archive of this state back in place, or replay into a new "
                            "folder");
}

// --- a life ---

template <archivable T>
template <typename Constructor>
const T& lifecycle<T>::create(Constructor&& construct) {
    auto all = state_.start_session();
    const T& made = state_.template create<T>(std::forward<Constructor>(construct));
    byte_buffer key;
    archived_keys::each_unique(made, [&](std::uint32_t number, auto&& append) {
        key.clear();
        append(key);
        if (filter_.may_have(detail::filter_layout::hash(number, key)))
            require_free(made, number, key);
    });
    all.squash();
    return made;
}

template <archivable T>
void lifecycle<T>::require_free(const T& object, std::uint32_t number, bytes_view key) const {
    const auto is_taken = [&](std::uint32_t row) {
        return row != object.id.value && removed_.counts(row);
    };
    const auto other = rows_.find(table_, number, key, is_taken);
    if (!other) return;
    throw duplicate_key_error(name_ + ": " + archived_keys::names()[number] + " = " +
                              detail::printable(key) + " is taken by " + name_ + " " +
                              std::to_string(other->id()) + " in the archive, so " +
                              std::to_string(object.id.value) + " cannot have it");
}

template <archivable T>
void lifecycle<T>::retire(const T& object) {
    const auto refuse = [&](const char* why) {
        throw usage_error(name_ + " " + std::to_string(object.id.value) +
                          ": cannot be retired: " + why);
    };
    if (state_.find(object.id) != &object) refuse("it is not in this state (a copy, or removed)");
    if (is_retired(object.id)) refuse("it is retired already");
    byte_buffer record;
    const auto queue = state_.template view<entry, detail::by_revision>();
    // In a nested session the revision is above that of the block, to which it falls when that is
    // merged: what comes later stands behind all the same.
    const revision_number before = queue.empty() ? 0 : queue.rbegin()->revision;
    state_.template create<entry>([&](entry& one) {
        one.object = object.id;
        one.revision = std::max(state_.revision(), before);
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
void lifecycle<T>::remove(id<T> id) {
    auto all = state_.start_session();
    if (const T* object = state_.find(id); object && !is_retired(id)) {
        state_.remove(*object);
    } else if (object) {
        remove_retired(*object);
    } else {
        if (!removed_.counts(id.value) || !rows_.contains(table_, id.value))
            throw usage_error(name_ + " " + std::to_string(id.value) +
                              ": cannot be removed: it does not exist");
        removed_.add(id, true);
    }
    all.squash();
}

/// One that has a row (of before it was popped, or before a kill, or one that is being written)
/// leaves as if it were handed over, so that the state counts the row.
template <archivable T>
void lifecycle<T>::remove_retired(const T& object) {
    const id<T> number = object.id;
    const auto queued = state_.template get<entry, detail::by_object>(number).id;
    if (behind_.is_started() && given_ > queued) take_out_written();
    if (!is_retired(number)) return removed_.add(number, true);
    const bool has_row = rows_.contains(table_, number.value);
    byte_buffer key;
    if (has_row)
        remember_keys(object, key);
    else
        passed_over_.insert(queued.value);
    state_.remove(object);
    state_.remove(state_.get(queued));
    removed_.add(number, has_row);
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
                      ": was removed after it was retired; remove retired objects through their "
                      "life cycle");
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
void lifecycle<T>::put(const departure& leaving, bool is_exact, row_buffers& row,
                       write_batch& batch) const {
    const T& object = *leaving.object;
    if (detail::content_hash(object, row.record) != leaving.from_queue->content)
        throw usage_error(name_ + " " + std::to_string(object.id.value) +
                          ": was changed after it was retired; nothing was written. Change objects "
                          "of this type through its life cycle");
    bool is_new = is_exact;
    archived_keys::each(object, [&](std::uint32_t number, auto&& append) {
        byte_buffer& key = row.keys[number];
        key.clear();
        append(key);
        row.by_number[number] = {number, key};
        if (!archived_keys::is_unique_key[number]) return;
        if (!filter_.may_have(detail::filter_layout::hash(number, key))) return;
        require_free(object, number, key);
        is_new = false;
    });
    if (is_new)
        batch.add(table_, object.id.value, row.record, row.by_number);
    else
        batch.put(table_, object.id.value, row.record, row.by_number);
}

template <archivable T>
void lifecycle<T>::remember_keys(const T& leaving, byte_buffer& key) {
    std::uint64_t before = handed_over() * archived_keys::unique_count;
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
    // Then the store has none of these rows, not even from before a pop or from an earlier process.
    const bool is_exact = !rows_.is_of_the_state() && rows_.count(table_) == handed_over();
    const stopwatch watch;
    write_batch batch;
    row_buffers row;
    for (const departure& one : leaving)
        put(one, is_exact, row, batch);
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

template <archivable T>
std::size_t lifecycle<T>::hand_over(revision_number irreversible, std::size_t limit) {
    require_irreversible(irreversible);
    if (!rows_.keeps_rows()) return 0;
    const std::size_t before = take_out_written();
    const std::vector<departure> leaving = departures(irreversible, limit);
    if (leaving.empty()) return before;
    rows_.write(rows_of(leaving));
    forget_passed_over(leaving);
    if (!rows_.is_of_the_state()) written_ = detail::behind(leaving); // else a pop takes rows back
    take_out_all(leaving);
    return before + leaving.size();
}

template <archivable T>
void lifecycle<T>::write_rows(std::span<const id<T>> leaving) {
    if (leaving.empty() || !rows_.keeps_rows() || rows_.is_of_the_state()) return;
    std::vector<departure> all;
    for (const id<T> one : leaving)
        all.push_back(departure_of(state_.template get<entry, detail::by_object>(one)));
    rows_.write(rows_of(all));
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
    forget_passed_over(leaving);
    given_ = detail::behind(leaving);
    return left;
}

/// Called once they were given to the store.
template <archivable T>
void lifecycle<T>::forget_passed_over(const std::vector<departure>& written) noexcept {
    for (const departure& one : written)
        passed_over_.erase(one.from_queue->id.value);
}

/// Those that a pop brought back, too: they are not written once more, but for those that the
/// writing passed over.
template <archivable T>
std::size_t lifecycle<T>::take_out_written() {
    if (behind_.is_started()) {
        behind_.finish();
        written_ = given_;
    }
    std::vector<departure> leaving;
    std::vector<departure> unwritten;
    for (const entry& one : state_.template view<entry, detail::by_revision>()) {
        if (one.id >= written_) break;
        leaving.push_back(departure_of(one));
        if (passed_over_.contains(one.id.value)) unwritten.push_back(leaving.back());
    }
    if (!unwritten.empty()) rows_.write(rows_of(unwritten));
    forget_passed_over(unwritten);
    if (!leaving.empty()) take_out_all(leaving);
    return leaving.size();
}

// --- lookups ---

/// A store that is open for reading does not advance with the state.
template <archivable T>
void lifecycle<T>::require_still_there() const {
    if (!rows_.outlives_process() || state_.is_writable()) return;
    const std::uint64_t seen = rows_.count(table_);
    if (seen < handed_over())
        throw usage_error(rows_.name() + ": table \"" + name_ + "\" was opened for reading with " +
                          std::to_string(seen) + " rows, and the state has handed over " +
                          std::to_string(handed_over()) + " by now; open the archive again");
}

template <archivable T>
std::optional<found<T>> lifecycle<T>::find(id<T> id) const {
    const sampled_stopwatch watch;
    if (const T* object = state_.find(id)) {
        rows_.stats().found_in_memory(watch);
        return found<T>(*object);
    }
    if (!removed_.counts(id.value)) {
        rows_.stats().missed_for_sure(watch);
        return std::nullopt;
    }
    auto row = rows_.find(table_, id.value);
    if (!row) require_still_there();
    return detail::found_in<T>(std::move(row));
}

template <archivable T>
template <typename Tag, typename... V>
std::optional<found<T>> lifecycle<T>::find(const V&... values) const {
    constexpr auto number = static_cast<std::uint32_t>(archived_keys::template number<Tag>);
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(is_unique(key::kind), "ask for the range() of a key that is not unique");
    using parts = detail::parts_called<T, Tag>;
    static_assert(parts::template given<V...> == parts::count, "a row is found by its whole key");
    const sampled_stopwatch watch;
    if (const T* object = state_.template find<T, Tag>(values...)) {
        rows_.stats().found_in_memory(watch);
        return found<T>(*object);
    }
    byte_buffer bytes;
    const auto left_memory = [&] {
        if (handed_over() == 0 || !parts::can_hold(values...)) return false;
        detail::append_key_of<parts>(bytes, parts::make_lookup(values...));
        return filter_.may_have(detail::filter_layout::hash(number, bytes));
    };
    if (!left_memory()) {
        rows_.stats().missed_for_sure(watch);
        return std::nullopt;
    }
    const auto counts = [this](std::uint32_t row) { return removed_.counts(row); };
    auto row = rows_.find(table_, number, bytes, counts);
    if (!row) require_still_there();
    return detail::found_in<T>(std::move(row));
}

template <archivable T>
template <typename Tag, typename... V>
object_cursor<T, Tag> lifecycle<T>::range(const V&... values) const {
    constexpr auto number = static_cast<std::uint32_t>(archived_keys::template number<Tag>);
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(!is_hashed(key::kind), "a hashed key has no order");
    require_still_there();
    const auto in_memory = state_.template view<T, Tag>();
    byte_buffer prefix;
    if constexpr (sizeof...(V) == 0) {
        return {
            removed_, rows_, table_, in_memory.begin(), in_memory.end(), rows_.keys(table_, number),
            prefix};
    } else {
        using parts = detail::parts_called<T, Tag>;
        detail::append_key_of<parts>(prefix, parts::make_bound(values...));
        const auto [first, last] = in_memory.equal_range(values...);
        return {removed_, rows_, table_, first, last, rows_.keys(table_, number, prefix), prefix};
    }
}

template <archivable T>
template <typename Tag, typename... V>
object_cursor<T, Tag> lifecycle<T>::from(const V&... values) const {
    constexpr auto number = static_cast<std::uint32_t>(archived_keys::template number<Tag>);
    static_assert(number < archived_keys::count, "the archive does not keep this key");
    using key = key_called<T, Tag>;
    static_assert(!is_hashed(key::kind), "a hashed key has no order");
    require_still_there();
    byte_buffer first;
    using parts = detail::parts_called<T, Tag>;
    detail::append_key_of<parts>(first, parts::make_bound(values...));
    const auto in_memory = state_.template view<T, Tag>();
    return {removed_,
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
        if (!removed_.has(id<T>(rows.id())))
            visit(found<T>(pinned_row(rows.id(), rows.record(), nullptr)));
    if (rows.valid() && rows.id() == below) rows.next();
}

template <archivable T>
template <typename Visitor>
void lifecycle<T>::for_each(Visitor&& visit) const {
    require_still_there();
    row_cursor rows = rows_.rows(table_);
    for (const T& object : state_.template objects<T>()) {
        visit_rows(rows, object.id.value, visit);
        visit(found<T>(object));
    }
    visit_rows(rows, state_.template next_id<T>().value, visit);
}

} // namespace chainbase::archive
