#pragma once

#include <chainbase/error.hpp>
#include <chainbase/open_options.hpp>
#include <chainbase/state_lock.hpp>
#include <chainbase/statistics.hpp>
#include <chainbase/views.hpp>
#include <undo/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

class database;

/// The changes of all types since a session began, read from the log once. Valid until the next
/// change or the end of the session.
class state_changes {
public:
    /// The changes of the objects of T, each once. An object that was created and removed again is
    /// left out; one that was removed and whose id was given out again counts as modified.
    template <typename T>
    [[nodiscard]] std::vector<change<T>> of() const;
    /// How many objects of all types changed.
    [[nodiscard]] std::size_t size() const noexcept { return all_.objects().size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

private:
    friend class database;
    state_changes(const database& of, session_changes all) : of_(of), all_(std::move(all)) {}

    const database& of_;
    session_changes all_;
};

/// The current state of a chain: objects of registered types in shared memory, found by id and by
/// their keys, changed in all-or-nothing operations, and undone by session.
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
/// keep them apart. The calls themselves take no lock. References and views are valid while the
/// lock is held, until the object is removed or its type compacted.
///
/// Forks: a database belongs to the process that opened it. In a forked child, calls that change
/// the state, take a lock or close throw usage_error, destructors do nothing, and a store to an
/// object ends the child (SIGSEGV): so do not fork within a function passed to create or modify and
/// go on there. Reads without a lock see what the parent is changing. A child that needs the state
/// opens it itself. The parent with its sessions, locks and checkpoints is not affected.
///
/// Invariants:
///  1. After an exception from any call the state is as before the call.
///  2. After undo every byte in use is as it was when the session began.
///  3. After a kill at any instruction, opening returns to the last completed (pushed) revision; if
///     no session was open, to the last completed operation.
class database {
public:
    /// Opens the state in the folder `state`, or creates it. See class segment for the rules and
    /// the exceptions.
    explicit database(const std::string& state, const open_options& options = {});
    /// Takes over the open state; `other` is then closed. Sessions, views and references stay
    /// valid. Not allowed while a lock is held.
    database(database&& other) noexcept;
    /// Closes the own state as the destructor does, then takes over that of `other`.
    database& operator=(database&& other) noexcept;
    /// Closes the state, undoing open sessions. Errors are only reported on stderr; the state then
    /// counts as not closed.
    ~database();

    /// Waits until everything is on storage, marks the state as closed and releases the writer's
    /// lock. Afterwards only the destructor may be called. Throws usage_error while a session is
    /// open, io_error; the state then counts as not closed.
    void close();
    /// Leaves the state as a killed process does, without marking it closed: the next opening rolls
    /// back to the last completed block. Afterwards only the destructor may be called.
    void abandon() noexcept;

    /// How the state was opened: created, attached, rolled back or restored, and at which revision.
    [[nodiscard]] const opening& opened() const;
    /// The folder of the state, and that of its segment, which may be in memory elsewhere.
    [[nodiscard]] const std::string& state() const;
    [[nodiscard]] std::string segment_folder() const;
    [[nodiscard]] bool is_writable() const;
    /// Makes a checkpoint of the present state, which survives a crash of the machine, and waits
    /// until it is on storage. Scheduled checkpoints are made at the end of a block without making
    /// the writer wait. Throws usage_error within an operation, when only reading or with
    /// durability::process; io_error, out_of_space_error: then the previous checkpoint is
    /// unchanged.
    checkpoint::outcome make_checkpoint();
    /// Waits until all blocks (pushed sessions) so far survive a crash of the machine. With
    /// durability::commit it waits for the next sync of the redo log, at most a few milliseconds;
    /// else, or when that log's run was abandoned, it makes a checkpoint. Throws as
    /// make_checkpoint.
    void wait_until_durable();
    /// The checkpoints made since the state was opened. From any thread, but not concurrently with
    /// close() and abandon().
    [[nodiscard]] checkpoint::history checkpoints() const;
    /// Registers `call`, which syncs data that the state relies on and that is kept elsewhere: see
    /// segment::sync_before_checkpoints.
    [[nodiscard]] std::shared_ptr<void> sync_before_checkpoints(std::function<void()> call,
                                                                const void* owner = nullptr);

    /// Registers T as `name`, creating it in the state or checking that its layout there is the
    /// same. Throws usage_error when T or `name` is registered already, schema_error naming the
    /// first difference of the layout, and the errors of creating files.
    ///
    /// Call it for every type after opening, before any other call about the type. A new type is
    /// not part of a session: undoing one that began before removes its objects but keeps the type.
    template <typename T>
    void add_type(const std::string& name);

    /// @name Objects
    /// Calls about a type that was not added throw usage_error. So do calls that change objects
    /// when the state is open read-only, and within the functions passed to create and modify.
    /// @{

    /// Creates an object: `initialise(T&)` sets the members that are not default; the id is set
    /// already. The reference stays valid until the object is removed or the type compacted. Throws
    /// duplicate_key_error naming key, value and the other object, limit_error, out_of_space_error,
    /// usage_error (the id was changed), and what `initialise` throws; then nothing changed.
    template <typename T, typename Initialise>
    const T& create(Initialise&& initialise) {
        return changing<T>().create(initialise);
    }
    /// As create, with this id, for a copy of another state's objects. All smaller ids count as
    /// given out then. Throws also usage_error when an object has it.
    template <typename T, typename Initialise>
    const T& create_as(id<T> as, Initialise&& initialise) {
        return changing<T>().create_as(as, initialise);
    }
    /// Counts all ids of T below `next` as given out. Throws out_of_space_error, limit_error; then
    /// nothing changed.
    template <typename T>
    void skip_ids(id<T> next) {
        changing<T>().skip_ids(next);
    }
    /// Changes an object of this database with `change(T&)`; members and keys may change, the id
    /// may not. Throws as create does; then the object is unchanged.
    template <typename T, typename Change>
    void modify(const T& object, Change&& change) {
        changing<T>().modify(object, change);
    }
    /// As modify, for the object with `id`. Also throws not_found_error.
    template <typename T, typename Change>
    void modify(id<T> id, Change&& change) {
        modify(get(id), change);
    }
    /// As modify, for the first object whose key Tag is `key`, one value or a std::tuple. Also
    /// throws not_found_error.
    template <typename T, typename Tag, typename Key, typename Change>
    void modify(const Key& key, Change&& change) {
        modify(get<T, Tag>(key), change);
    }
    /// The object whose unique key Tag is `key`, one value or a std::tuple; if there is none,
    /// creates it with `initialise`, which must set this key. Throws as create does, and
    /// usage_error when it set another key; then nothing changed.
    template <typename T, typename Tag, typename Key, typename Initialise>
    const T& get_or_create(const Key& key, Initialise&& initialise);
    /// Removes an object of this database; references to it become invalid. Throws usage_error for
    /// a foreign object, out_of_space_error; then the object is unchanged.
    template <typename T>
    void remove(const T& object) {
        changing<T>().remove(object);
    }
    /// As remove, for the object with `id`. Also throws not_found_error.
    template <typename T>
    void remove(id<T> id) {
        remove(get(id));
    }
    /// As remove, for the first object whose key Tag begins with `values`. Also throws
    /// not_found_error.
    template <typename T, typename Tag, typename... V>
    void remove(const V&... values) {
        remove(get<T, Tag>(values...));
    }
    /// Removes the objects of a range of any view of T, as one operation; returns their number.
    /// Throws as remove does; then nothing is removed.
    template <std::ranges::input_range Objects>
    std::size_t remove_all(Objects&& objects);
    /// Removes the objects of T for which `condition(const T&)` holds, as one operation; returns
    /// their number. Throws as remove does, and what `condition` throws; then nothing is removed.
    template <typename T, typename Condition>
    std::size_t remove_if(Condition&& condition);
    /// Removes all objects of T, as one operation. Throws out_of_space_error; then nothing is
    /// removed.
    template <typename T>
    void clear() {
        changing<T>().clear();
    }
    /// The object of `id`, or null.
    template <typename T>
    [[nodiscard]] const T* find(id<T> id) const {
        return of<T>().find(id);
    }
    /// The first object whose key Tag begins with `values`, one for each part or all in a
    /// std::tuple; null if there is none, or for a value that the part's type cannot hold. A hashed
    /// key requires all of its values.
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
    /// Whether find() finds an object.
    template <typename T>
    [[nodiscard]] bool contains(id<T> id) const {
        return find(id) != nullptr;
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] bool contains(const V&... values) const {
        return find<T, Tag>(values...) != nullptr;
    }
    /// Looks up many values of the key Tag, each a value or a std::tuple: `found[i]` becomes what
    /// find() returns for `keys[i]`. Faster than repeated find(), since the memory of several
    /// lookups is waited for at once, including what modify() reads first. Looking up the keys of
    /// objects to be created prefetches where these will be linked. Throws usage_error when `found`
    /// has fewer elements than there are keys.
    template <typename T, typename Tag, std::ranges::random_access_range Keys>
    void find_many(const Keys& keys, std::span<const T*> found) const {
        view<T, Tag>().find_many(keys, found);
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
    /// How many objects of T have a key Tag that begins with `values`. Cost as the view's count().
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] std::size_t count(const V&... values) const {
        return view<T, Tag>().count(values...);
    }
    /// The id that the next object of T gets; all smaller ones were given out.
    template <typename T>
    [[nodiscard]] id<T> next_id() const {
        return of<T>().next_id();
    }
    /// @}

    /// @name Sessions and revisions
    /// @{
    /// Starts a session; later changes are undone unless the guard is pushed or squashed.
    [[nodiscard]] session start_session() { return session(log()); }
    /// Starts a session if `enabled`; else returns a guard without a session, which does nothing,
    /// for code that works with and without undo.
    [[nodiscard]] session start_session(bool enabled) {
        return enabled ? start_session() : session::disabled(revision());
    }
    /// Undoes the newest session, pushed or not. Throws usage_error if there is none.
    void undo();
    /// Merges the newest session into the one below, or makes it permanent if it is the only one;
    /// either way the revision goes down by one. Throws usage_error if there is none.
    void squash();
    /// Undoes all sessions.
    void undo_all();
    /// Makes all revisions up to `revision` permanent. Throws usage_error when one of them is open.
    void commit(revision_number revision) { log().commit(revision); }
    /// Sets the revision number. Throws usage_error while something can be undone, and when
    /// `revision` is smaller than revision() or greater than undo_log::max_revision (2^62).
    void set_revision(revision_number revision) { log().set_revision(revision); }
    /// The revision of the newest session; without one, the committed revision.
    [[nodiscard]] revision_number revision() const;
    /// The newest revision that cannot be undone.
    [[nodiscard]] revision_number committed_revision() const;
    /// The changes of objects since the session of `revision` began, including those of sessions
    /// above it. Throws usage_error if there is no such session.
    [[nodiscard]] state_changes changes(revision_number revision) const {
        return {*this, session_changes(log(), session_mark_of(revision))};
    }
    /// @}

    /// @name Locks
    /// Between the threads of this process (state_lock) and between processes (process_lock);
    /// readers and the writer cannot starve each other. Nesting the two locks, or taking one twice
    /// in a thread, throws usage_error. With open_options::check_locks every call that reads
    /// objects requires one of them, every call that changes objects the write lock, and throws
    /// usage_error without it. The application must order its own locks consistently before or
    /// after these; while holding them the engine takes only the locks of the archive's store. The
    /// result of `f` must not refer to an object, since the lock is released.
    ///
    /// Change a state under the write lock if other processes read it. Opening, closing, compacting
    /// and adding types lock out other processes by themselves; reader threads of this process are
    /// locked out by with_write_lock only.
    /// @{

    /// Calls f() while no thread and no process writes. In a process that only reads, throws
    /// unclean_error when the writer died in the middle of a change and no other writer came within
    /// open_options::wait_for_writer, replaced_error when the state has to be opened again,
    /// limit_error when too many threads read; then f is not called.
    template <typename F>
    auto with_read_lock(F&& f) const {
        if (is_closed_) [[unlikely]]
            throw_closed();
        const read_guard lock(*lock_, *segment_, is_writer_);
        const trace::span held(state_lock::read_hold);
        return std::forward<F>(f)();
    }
    /// Calls f() while no other thread or process reads or writes.
    template <typename F>
    auto with_write_lock(F&& f) {
        if (is_closed_) [[unlikely]]
            throw_closed();
        const write_guard lock(*lock_, *segment_);
        const trace::span held(state_lock::write_hold);
        return std::forward<F>(f)();
    }
    /// @}

    /// Moves objects together and gives free space back to the file system. References become
    /// invalid. Throws usage_error while something can be undone.
    void compact();

    /// Each type of the state: its name, its number of objects, and how its bytes are used.
    [[nodiscard]] std::vector<type_statistics> types() const;
    /// How every byte of the state's memory is used.
    [[nodiscard]] segment_statistics statistics() const;
    /// Whether the state has a type of this name, registered in this process or not.
    [[nodiscard]] bool has_type(const std::string& name) const;

    /// The shared memory behind the objects, for the layers above.
    [[nodiscard]] segment& memory() { return const_cast<segment&>(own()); }

private:
    /// Throws usage_error when the database was moved from.
    [[nodiscard]] const segment& own() const {
        if (!segment_) [[unlikely]]
            throw_closed();
        return *segment_;
    }

    template <typename T>
    [[nodiscard]] object_index<T>& of() const {
        return index_of<T>(/*to_write=*/false);
    }
    template <typename T>
    [[nodiscard]] object_index<T>& changing() {
        return index_of<T>(/*to_write=*/true);
    }
    template <typename T>
    [[nodiscard]] object_index<T>& index_of(bool to_write) const {
        const std::size_t number = detail::type_number<T>;
        if (number >= indexes_.size() || !indexes_[number]) [[unlikely]]
            throw_unregistered(detail::type_name<T>);
        if (checks_locks_ && !holds_lock(to_write)) [[unlikely]]
            throw_without_lock(to_write);
        return static_cast<object_index<T>&>(*indexes_[number]);
    }
    /// Whether this thread holds the lock that a call needs. Pure, and what throws does not return,
    /// so that a loop of lookups looks for the index once.
    [[nodiscard, gnu::pure]] bool holds_lock(bool to_write) const noexcept;
    [[noreturn]] void throw_unregistered(std::string (*type)()) const;
    [[noreturn]] void throw_without_lock(bool to_write) const;
    /// A type that add_type() is creating: its windows, until it is entered or discarded.
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
    [[nodiscard]] undo_log& log() const {
        if (!log_) throw_without_log();
        return *log_;
    }
    [[noreturn]] void throw_without_log() const;
    [[noreturn]] void throw_closed() const;
    void require_session(const char* call) const;
    /// Where that session begins in the log. Throws usage_error if there is no such session.
    [[nodiscard]] log_position session_mark_of(revision_number revision) const;

    friend class state_changes;
    friend class snapshot;

    std::unique_ptr<state_lock> lock_;
    std::unique_ptr<segment> segment_;
    bool is_writer_ = false;
    bool checks_locks_ = false;
    bool is_closed_ = false;
    undo_log* log_ = nullptr; ///< null when only reading, and after close() or abandon()
    std::vector<std::unique_ptr<index_base>> indexes_;
};

template <typename T>
void database::add_type(const std::string& name) {
    if constexpr (detail::is_declared<T>) {
        type_schema schema = schema_of<T>(name);
        schema.root_bytes = object_index<T>::root_bytes;
        new_type type(*this, detail::type_number<T>, schema);
        type.enter(std::make_unique<object_index<T>>(segment_.get(), log_, type.windows()));
    }
}

template <typename T>
const T& database::get(id<T> id) const {
    if (const T* found = find(id)) return *found;
    of<T>().throw_not_found(id.value);
}

template <typename T, typename Tag, typename... V>
const T& database::get(const V&... values) const {
    if (const T* found = find<T, Tag>(values...)) return *found;
    if constexpr (detail::has_key<T, Tag>) {
        using key = key_called<T, Tag>;
        using parts = typename key::template parts_of<T>;
        of<T>().throw_not_found(key_name<key>(), parts::text_of_lookup(values...));
    } else {
        std::abort(); // the compiler has refused it
    }
}

template <typename T, typename Tag>
auto database::view() const {
    if constexpr (!detail::has_key<T, Tag>)
        return detail::no_view<T>();
    else if constexpr (is_hashed(key_called<T, Tag>::kind))
        return hashed_view<T, key_position<T, Tag>>(of<T>());
    else
        return ordered_view<T, key_position<T, Tag>>(of<T>());
}

template <typename T, typename Tag, typename Key, typename Initialise>
const T& database::get_or_create(const Key& key, Initialise&& initialise) {
    if constexpr (detail::is_unique_key<T, Tag, Key>()) {
        if (const T* found = find<T, Tag>(key)) return *found;
        using parts = typename key_called<T, Tag>::template parts_of<T>;
        const auto wanted = parts::make_bound(key);
        return create<T>([&](T& made) {
            initialise(made);
            if (!parts::equal(made, wanted))
                of<T>().throw_other_key(key_name<key_called<T, Tag>>(), parts::text(wanted),
                                        parts::text(made));
        });
    } else {
        std::abort(); // the compiler has refused it
    }
}

template <std::ranges::input_range Objects>
std::size_t database::remove_all(Objects&& objects) {
    using T = std::ranges::range_value_t<Objects>;
    std::vector<const T*> all;
    for (const T& object : objects)
        all.push_back(&object);
    changing<T>().remove_all(all);
    return all.size();
}

template <typename T, typename Condition>
std::size_t database::remove_if(Condition&& condition) {
    return remove_all(objects<T>() | std::views::filter([&](const T& object) {
                          return static_cast<bool>(condition(object));
                      }));
}

template <typename T>
std::vector<change<T>> state_changes::of() const {
    return of_.of<T>().changes(all_);
}

} // namespace chainbase
