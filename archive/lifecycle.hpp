#pragma once

#include <archive/background_write.hpp>
#include <archive/found.hpp>
#include <archive/lifecycle_objects.hpp>
#include <archive/object_cursor.hpp>
#include <archive/store.hpp>
#include <chainbase/database.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::archive {

/// The life of the objects of T beyond memory: live, retired (finished, still in memory), archived
/// (a row of the store). T::archived_by names the keys by which they are found in either place.
///
///     create      modify       retire            hand_over(irreversible)
///       |           |             |                        |
///       +-- live ---+-------------+-- retired -- write row -- remove from memory -- archived -->
///                under undo, as any change of its block    a change of the block under way
///
///     lifecycle<comment> comments(state, rows, "comment");
///     comments.retire(paid);                              // in its block
///     comments.hand_over(state.committed_revision());     // in a later block's session
///     auto it = comments.find<by_permlink>("alice", "hello");
///     auto all = comments.range<by_author>("alice");      // in either place, in order
///
/// Invariants:
///  1. An object is in memory, in the store, or in both with the same content; never in none. The
///     row is written before the object leaves memory, and writing it again changes nothing.
///  2. Only objects retired in a revision that cannot be undone are written, so no row stems from a
///     popped block. If the block that removed an object from memory is popped, the object is back
///     and its row stays, harmless, since memory is looked up first.
///  3. A retired object does not change any more. modify() here refuses it at the price of one
///     lookup among the retired; a change that bypassed it (database::modify) is detected by a hash
///     of the content before the row is written, and then refused.
///  4. A row counts only if the state has given out its id: an archive that is ahead of the state
///     (because an older copy of the state was put in place) reveals nothing of later blocks.
///  5. A finished object may be removed, wherever it is, and its keys reused. Its row stays but
///     does not count; if the block that removed it is popped, it counts again.
///
/// Thread-safety: as the database: what is const under its read lock, the rest by its writer. The
/// lookups are counted in the store's statistics.
template <archivable T>
class lifecycle {
    using entry = detail::retired<T>;
    using archived_keys = detail::archived_keys<T>;

public:
    using object_type = T;

    /// Calls `visit`, a lambda with a type as its template argument, with the name of T and of each
    /// type that this registers beside it.
    template <typename Visitor>
    static void each_type(const std::string& name, Visitor&& visit) {
        visit.template operator()<T>(name);
        visit.template operator()<entry>(name + ".retired");
        visit.template operator()<detail::filter_block<T>>(name + ".filter");
        visit.template operator()<detail::removed<T>>(name + ".removed");
        visit.template operator()<detail::withdrawn<T>>(name + ".withdrawn");
    }

    /// For the type T registered as `name` in `state`; registers what it needs beside it, as
    /// `name`.retired, .filter, .removed and .withdrawn, and opens the table `name` of the store.
    /// Both must outlive the last call of this; beyond that the three may go in any order, for the
    /// rows are synced before the state relies on them (store::sync_before_checkpoints_of, which
    /// this calls). Throws damaged_error when the store lacks rows that the
    /// state handed over (an archive that was lost, or is of an older time), and what
    /// database::add_type and store::open_table throw.
    lifecycle(database& state, store& rows, std::string name);
    lifecycle(const lifecycle&) = delete;
    lifecycle& operator=(const lifecycle&) = delete;

    /// As database::create, but checks both places: throws duplicate_key_error, with nothing
    /// changed, also when an object in the archive has one of the unique keys by which it is found
    /// there. database::create is for callers that know already, from find(). Throws also what
    /// reading the store throws.
    template <typename Constructor>
    const T& create(Constructor&& construct);

    /// Declares an object of the state finished, as a change of the current session. Throws
    /// usage_error when it is not an object of the state or is retired already, and what create
    /// throws.
    void retire(const T& object);
    [[nodiscard]] bool is_retired(id<T> id) const {
        return state_.template find<entry, detail::by_object>(id) != nullptr;
    }
    /// As database::modify, but throws usage_error when the object is retired.
    template <typename Change>
    void modify(const T& object, Change&& change);

    /// Removes the object of `id`, wherever it is, as a change of the session under way. All its
    /// keys are free then. If hand_over_behind() is writing its row, this waits for that write, and
    /// all written objects leave memory.
    ///
    /// Throws usage_error when there is none, and what find() and hand_over() throw; then nothing
    /// was removed.
    void remove(id<T> id);

    /// Takes up to `limit` objects that were retired up to the revision `irreversible` to the
    /// store, in one batch, and then out of memory, as changes of the session under way; before
    /// them what hand_over_behind() has written. Returns how many left memory: none with a store
    /// that keeps no rows.
    ///
    /// Throws usage_error when that revision can still be undone or an object was changed or
    /// removed past this after it was retired, and duplicate_key_error when one in the archive has
    /// its key, which create() would have refused; then nothing was written. Throws what
    /// store::write throws, with nothing removed, and out_of_space_error; then rows are written and
    /// nothing is removed.
    std::size_t hand_over(revision_number irreversible, std::size_t limit = SIZE_MAX);

    /// The same in two steps, so that a thread of its own writes while the caller goes on: takes
    /// those objects out of memory that an earlier call gave to that thread, if they are written by
    /// now, and gives it the next ones, once `batch` of them can go: fewer stay in memory, where
    /// they cost little and are found at once. Waits for the thread only when four times `batch`
    /// objects are retired, and gives it no more than that. With rows that are part of the state
    /// there is no disk to wait for, and this is hand_over(). Returns how many left memory. Throws
    /// as hand_over does, also what the thread met; then nothing was removed, and the same objects
    /// are written again next time.
    std::size_t hand_over_behind(revision_number irreversible, std::size_t batch);

    /// For a copy of another state, in which these objects leave memory (feed::replica): writes
    /// their rows, unless these are objects of the state; the caller then removes them and what is
    /// kept of them. Throws usage_error when one is not retired, and what hand_over() throws; then
    /// nothing was written.
    void write_rows(std::span<const id<T>> leaving);

    /// The object of `id`, wherever it is; nothing when there is none. Throws what store::find
    /// throws: an unreadable store never counts as "not there". Neither does a store opened for
    /// reading before the state's writer handed over more objects: then this and the calls below
    /// throw usage_error, and the store must be opened again.
    [[nodiscard]] std::optional<found<T>> find(id<T> id) const;
    /// The object whose unique key Tag (all of its parts) equals `values`.
    template <typename Tag, typename... V>
    [[nodiscard]] std::optional<found<T>> find(const V&... values) const;

    /// The objects whose ordered key Tag begins with `values` (its leading parts, as many as
    /// wanted), of both places, in the key's order. Throws usage_error for a value that a part's
    /// type cannot hold, and what reading the store throws.
    template <typename Tag, typename... V>
    [[nodiscard]] object_cursor<T, Tag> range(const V&... values) const;
    /// The same from the first object whose key is not before `values` to the last one of all: to
    /// go on where a page of results ended.
    template <typename Tag, typename... V>
    [[nodiscard]] object_cursor<T, Tag> from(const V&... values) const;

    /// Calls visit(const found<T>&) for every object of both places, by rising id, each once. The
    /// argument is valid during the call. Throws what reading the store throws.
    template <typename Visitor>
    void for_each(Visitor&& visit) const;

    /// Objects that are in the archive only.
    [[nodiscard]] std::uint64_t archived() const {
        return handed_over() - (removed_.count() - removed_.withdrawn_count());
    }
    /// Objects that are retired and still in memory.
    [[nodiscard]] std::size_t waiting() const noexcept { return state_.template count<entry>(); }
    /// Objects in memory, the retired ones too.
    [[nodiscard]] std::size_t in_memory() const noexcept { return state_.template count<T>(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    struct departure {
        const entry* from_queue;
        const T* object;
    };

    /// Buffers reused for one row after the other.
    struct row_buffers {
        byte_buffer record;
        std::array<byte_buffer, archived_keys::count> keys;
        std::array<secondary_key, archived_keys::count> by_number;
    };

    static database& registered(database& state, const std::string& name);
    void require_rows();
    void require_irreversible(revision_number revision) const;
    [[nodiscard]] departure departure_of(const entry& one) const;
    [[nodiscard]] std::vector<departure> departures(revision_number up_to, std::size_t limit) const;
    [[nodiscard]] write_batch rows_of(const std::vector<departure>& leaving);
    void take_out_all(const std::vector<departure>& leaving);
    std::size_t take_out_written();
    void forget_passed_over(const std::vector<departure>& written) noexcept;
    void put(const departure& leaving, bool is_exact, row_buffers& row, write_batch& batch) const;
    void take_out(const departure& leaving, byte_buffer& key);
    void remember_keys(const T& leaving, byte_buffer& key);
    /// The least number of rows that the store must have.
    [[nodiscard]] std::uint64_t handed_over() const {
        return state_.template next_id<entry>().value - waiting() - removed_.withdrawn_count();
    }
    void require_still_there() const;
    void require_free(const T& object, std::uint32_t number, bytes_view key) const;
    void remove_retired(const T& object);
    template <typename Visitor>
    void visit_rows(row_cursor& rows, std::uint32_t below, Visitor& visit) const;

    database& state_;
    store& rows_;
    std::string name_;
    table_id table_;
    detail::key_filter<T> filter_; ///< over the keys of what left memory
    detail::removed_objects<T> removed_;
    // The queue's entries below these have been given to behind_, and were written by this process:
    // all are of revisions that cannot be undone, and the queue is in the order of ids, so they are
    // its first ones for good. But not those that had been withdrawn by then, which a pop can bring
    // back.
    id<entry> given_{0};
    id<entry> written_{0};
    std::set<std::uint32_t> passed_over_; ///< entries
    background_write behind_;
};

} // namespace chainbase::archive

#include <archive/lifecycle.ipp>
