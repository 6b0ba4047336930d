#pragma once

#include <chainbase/lock/state_lock.hpp>
#include <chainbase/open_options.hpp>
#include <chainbase/views.hpp>
#include <undo/session.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

/// The current state of a chain: objects of registered types in shared memory, found by id and by
/// their keys, changed in operations that happen whole or not at all, and undone by session.
///
///     database db("state");
///     db.add_type<account>("account");
///     auto block = db.start_session();
///     const account& alice = db.create<account>([](account& a) { a.name = "alice"; });
///     db.modify(alice, [](account& a) { a.balance += 5; });
///     block.push();
///     db.commit(block.revision());
///
/// Thread-safety: one thread writes at a time, any number read; with_write_lock and with_read_lock
/// keep them apart. The calls themselves take no lock. References and views are valid under the
/// lock, and as long as the object is neither removed nor its type compacted.
///
/// Forks: a database belongs to the process that opened it. In one that this process forks, calls
/// that change the state, take a lock or close throw usage_error, destructors do nothing, and a
/// store to an object ends that process (SIGSEGV): so a fork may not go on within a function passed
/// to create or modify. What is read there without a lock is what the parent is changing. A fork
/// that needs the state opens it itself. The parent and its sessions, locks and checkpoints are as
/// if it had not forked.
///
/// Invariants:
///  1. After an exception from any call the state is what it was before the call.
///  2. After undo every byte in use is what it was when the session began.
///  3. After a kill at any instruction, opening returns to the last completed (pushed) revision; if
///     no session was open, to the last completed operation.
class database {
public:
    /// Opens the state in the folder `state`, or creates it. See class segment for the rules and
    /// the exceptions.
    explicit database(const std::string& state, const open_options& options = {});
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    /// Closes, undoing open sessions. Errors are reported on stderr only; the state then counts as
    /// not closed.
    ~database();

    /// Waits until all is on storage, marks the state as closed and lets others write it. No call
    /// but the destructor is allowed afterwards. Throws usage_error while a session is open,
    /// io_error; the state then counts as not closed.
    void close();
    /// Leaves the state as a killed process does, for who must not call it closed: the next opening
    /// rolls back to the last completed block. No call but the destructor is allowed afterwards.
    void abandon() noexcept;

    /// How the state was opened: created, attached, rolled back or restored, and from which
    /// revision it goes on.
    [[nodiscard]] const opening& opened() const noexcept;
    /// Makes a checkpoint of what is there, which a crash of the machine does not take, and waits
    /// until it is on storage. By itself that happens by time, at the end of a block, without
    /// anyone waiting. Throws usage_error within an operation, when only reading or with
    /// durability::process; io_error, out_of_space_error: then the one before is what it was.
    checkpoint::outcome make_checkpoint();
    /// Waits until all blocks (pushed sessions) so far survive a crash of the machine. With
    /// durability::commit that is the next sync of the redo log, at most a few milliseconds away;
    /// else, or when that log is broken off, a checkpoint. Throws as make_checkpoint.
    void wait_until_durable();

    /// Makes T known under `name`, in a new state or in one that has it with the same layout.
    /// Throws usage_error when T or `name` is registered already, schema_error naming the first
    /// difference of the layout, and what creating files throws.
    ///
    /// To be called for every type after opening, before the first call about it; not under undo.
    template <object_type T>
    void add_type(const std::string& name);

    /// @name Objects
    /// Calls about a type that was not added throw usage_error. Those that change throw it, too,
    /// when the state is open read-only, and within the functions passed to create and modify.
    /// @{

    /// Makes an object: `initialise(T&)` fills in what is not default; the id is set already. The
    /// reference stays valid until the object is removed or the type compacted.
    /// Throws duplicate_key_error naming key, value and the other object, limit_error,
    /// out_of_space_error, usage_error (the id was changed), and what `initialise` throws; then
    /// nothing happened.
    template <typename T, typename Initialise>
    const T& create(Initialise&& initialise) {
        return of<T>().create(initialise);
    }
    /// Changes an object of this database with `change(T&)`; members and keys may change, the id
    /// may not. Throws as create does; then the object is unchanged.
    template <typename T, typename Change>
    void modify(const T& object, Change&& change) {
        of<T>().modify(object, change);
    }
    /// Removes an object of this database; references to it become invalid. Throws usage_error for
    /// another object, out_of_space_error; then it is still there.
    template <typename T>
    void remove(const T& object) {
        of<T>().remove(object);
    }
    /// Removes all objects of T, as one operation. Throws out_of_space_error; then all are there.
    template <typename T>
    void clear() {
        of<T>().clear();
    }
    /// The object of `id`, or null.
    template <typename T>
    [[nodiscard]] const T* find(id<T> id) const {
        return of<T>().find(id);
    }
    /// The first object whose key Tag begins with `values`, or null: also for a value that the
    /// part's type cannot hold. A hashed key takes all of its values.
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        return view<T, Tag>().find(values...);
    }
    /// As find, but throws not_found_error naming type, key and value.
    template <typename T>
    [[nodiscard]] const T& get(id<T> id) const;
    /// As find, but throws not_found_error naming type, key and value.
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] const T& get(const V&... values) const;

    /// Asks for the memory in which a lookup by the hashed key Tag begins. Who knows what will be
    /// looked up next calls this some lookups ahead, and prefetch_object when some of them are
    /// done: waiting for memory then overlaps with work. None of them changes anything.
    template <typename T, typename Tag, typename... V>
    void prefetch(const V&... values) const {
        view<T, Tag>().prefetch(values...);
    }
    /// Asks for the memory of the object itself, of which all is going to be used.
    template <typename T, typename Tag, typename... V>
    void prefetch_object(const V&... values) const {
        view<T, Tag>().prefetch_object(values...);
    }

    /// The third step, for objects that are going to be changed: asks for the place of the id, by
    /// which every change makes sure that the object is one of this database.
    template <typename T, typename Tag, typename... V>
    void prefetch_id(const V&... values) const {
        view<T, Tag>().prefetch_id(values...);
    }

    /// The objects of T by the key Tag: an ordered_view or a hashed_view.
    template <typename T, typename Tag>
    [[nodiscard]] auto view() const;
    /// The objects of T by id.
    template <typename T>
    [[nodiscard]] id_view<T> objects() const {
        return id_view<T>(of<T>());
    }
    /// How many objects of T there are.
    template <typename T>
    [[nodiscard]] std::size_t count() const {
        return of<T>().size();
    }
    /// The id that the next object of T will get; all smaller ones were given out.
    template <typename T>
    [[nodiscard]] id<T> next_id() const {
        return of<T>().next_id();
    }
    /// @}

    /// @name Sessions and revisions
    /// @{
    /// Starts a session; what follows is undone unless the guard is pushed or squashed.
    [[nodiscard]] session start_session() { return session(log()); }
    /// Undoes the newest session, pushed or not. Throws usage_error if there is none.
    void undo();
    /// Merges the newest session into the one below. The only one becomes permanent; either way
    /// the revision goes down by one. Throws usage_error if there is none.
    void squash();
    /// Undoes all sessions.
    void undo_all();
    /// Makes all revisions up to `revision` permanent. Throws usage_error when one of them is open.
    void commit(revision_number revision) { log().commit(revision); }
    /// Never to a smaller one than revision(), nor to more than undo_log::max_revision (2^62).
    /// Throws usage_error then, and while something can be undone.
    void set_revision(revision_number revision) { log().set_revision(revision); }
    /// The revision of the newest session; without one, of what was last made permanent.
    [[nodiscard]] revision_number revision() const;
    /// The newest revision that cannot be undone.
    [[nodiscard]] revision_number committed_revision() const;
    /// What happened to the objects of T since the session of `revision` began, sessions above it
    /// included. Throws usage_error if there is no such session.
    template <typename T>
    [[nodiscard]] std::vector<change<T>> changes(revision_number revision) const;
    /// @}

    /// @name Locks
    /// Between the threads of this process (state_lock) and between processes (process_lock);
    /// neither side can starve the other. Neither may be taken within the other, or twice by one
    /// thread. Locks of the application come before it or after it, always alike; the engine takes
    /// none while it holds it but those of the archive's store. What `f` returns must not refer to
    /// an object beyond the lock.
    ///
    /// A state is to be changed under the write lock if other processes read it; what the engine
    /// does by itself (opening, closing, compacting, adding types) keeps other processes out by
    /// itself. Threads of this process that read are kept out of it by with_write_lock alone.
    /// @{

    /// Calls f() while no thread and no process writes. In a process that only reads, throws
    /// unclean_error when the writer died in the middle of a change and no other one came within
    /// open_options::wait_for_writer, replaced_error when the state has to be opened again,
    /// limit_error when too many threads read; then f was not called.
    template <typename F>
    auto with_read_lock(F&& f) const {
        const read_guard lock(lock_, *segment_, is_writer_);
        const trace::span held(state_lock::read_hold);
        return std::forward<F>(f)();
    }
    /// Calls f() while no other thread or process reads or writes.
    template <typename F>
    auto with_write_lock(F&& f) {
        const write_guard lock(lock_, *segment_);
        const trace::span held(state_lock::write_hold);
        return std::forward<F>(f)();
    }
    /// @}

    /// Moves objects together and gives free space back to the file system. References become
    /// invalid. Throws usage_error while something can be undone.
    void compact();

    /// The shared memory behind the objects, for tools and layers that look at it.
    [[nodiscard]] segment& memory() const noexcept { return *segment_; }

private:
    /// Types are numbered per process, so that a type's index is found without a search.
    static inline std::atomic<std::size_t> types_numbered_{0};
    template <typename T>
    static inline const std::size_t type_number_ = types_numbered_++;

    template <typename T>
    [[nodiscard]] object_index<T>& of() const {
        const std::size_t number = type_number_<T>;
        if (number >= indexes_.size() || !indexes_[number])
            throw_unregistered(detail::type_name<T>());
        return static_cast<object_index<T>&>(*indexes_[number]);
    }
    /// A type that add_type() is making: its windows, until it is entered or forgotten.
    class new_type {
    public:
        /// `number` of the type in this process. Throws what add_type() throws.
        new_type(database& in, std::size_t number, const type_schema& schema);
        new_type(const new_type&) = delete;
        new_type& operator=(const new_type&) = delete;
        ~new_type();
        [[nodiscard]] const type_windows& windows() const noexcept { return *windows_; }
        void enter(std::unique_ptr<index_base> index);

    private:
        database& in_;
        std::size_t number_;
        write_turn turn_;
        type_windows* windows_; ///< null once entered
    };

    void require_new(std::size_t number, const std::string& name) const;
    [[noreturn]] void throw_unregistered(const std::string& type) const;
    [[nodiscard]] undo_log& log() const {
        if (!log_) throw_without_log();
        return *log_;
    }
    [[noreturn]] void throw_without_log() const;
    void require_session(const char* call) const;
    /// Where the log of that session begins. Throws usage_error if there is none.
    [[nodiscard]] log_position session_mark_of(revision_number revision) const;

    std::unique_ptr<segment> segment_;
    bool is_writer_;
    undo_log* log_; ///< the segment's, null when only reading and once closed or abandoned
    std::vector<std::unique_ptr<index_base>> indexes_;
    mutable state_lock lock_;
};

template <object_type T>
void database::add_type(const std::string& name) {
    type_schema schema = schema_of<T>(name);
    schema.root_bytes = object_index<T>::root_bytes;
    new_type type(*this, type_number_<T>, schema);
    type.enter(std::make_unique<object_index<T>>(*segment_, type.windows()));
}

template <typename T>
const T& database::get(id<T> id) const {
    if (const T* found = find(id)) return *found;
    of<T>().throw_not_found(id.value);
}

template <typename T, typename Tag, typename... V>
const T& database::get(const V&... values) const {
    if (const T* found = find<T, Tag>(values...)) return *found;
    using key = key_called<T, Tag>;
    of<T>().throw_not_found(key_name<key>(), key::parts::text(std::tie(values...)));
}

template <typename T, typename Tag>
auto database::view() const {
    constexpr std::size_t k = key_position<T, Tag>;
    static_assert(k < T::keys::count, "the type has no key with this tag");
    if constexpr (is_hashed(key_called<T, Tag>::kind))
        return hashed_view<T, k>(of<T>());
    else
        return ordered_view<T, k>(of<T>());
}

template <typename T>
std::vector<change<T>> database::changes(revision_number revision) const {
    return of<T>().changes(session_changes(log(), session_mark_of(revision)));
}

} // namespace chainbase
