#pragma once

#include <tools/bench/account.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>

namespace chainbase::bench {

/// Options of opening an engine's database.
struct store_options {
    /// An empty folder on the file system under test; the caller removes it.
    std::filesystem::path directory;
    /// Upper limit of live objects, for engines that size files in advance.
    std::uint32_t objects = 0;
    /// Number of types to register: the account and types - 1 that stay empty.
    std::uint32_t types = 1;
    /// Whether sessions will be used.
    bool sessions = false;
};

/// The kind of operations between begin_batch and end_batch.
enum class access { read, write };

namespace detail {

struct any_reader {
    template <typename Object>
    void operator()(const Object&) const {}
};

struct any_writer {
    template <typename Object>
    void operator()(Object&) const {}
};

} // namespace detail

/// The primitives of an engine; the timed loops over them belong to the workload and are the same
/// for every engine. A store is constructed from store_options (an empty database), used by one
/// thread, and frees everything in its destructor. Failures are exceptions.
///
/// - `handle`: what the engine's users keep to reach an object without a lookup: a pointer, or the
///   id. Valid until the object is removed; invalid after an undone removal.
/// - `create(value)`: stores an object with these fields, checks that id, name and balance with id
///   are unique, and returns its handle. Ids rise in order from 0, so an engine that assigns ids
///   itself may ignore value.id.
/// - `handle_of(id)`: the handle of an existing object; never timed.
/// - `find_many_by_name(names, read)`: if the engine can look up many at once;
/// - `find_by_id(id, read)`, `find_by_name(name, read)`: call `read(const object&)` if the object
///   exists, and return whether it does. The object may have its own type with the fields of
///   `account`; it need not outlive the call.
/// - `for_each_by_id(limit, read)`, `for_each_by_name(limit, read)`: the first `limit` in order.
/// - `modify(handle, write)`: calls `write(object&)` and stores the result under all indexes.
/// - `remove(handle)`.
/// - `held_bytes()`: bytes that the store holds and nothing else in the state can use: objects,
///   indexes, slack of partly used blocks; not what another type could allocate at once.
template <typename Store>
concept account_store =
    std::constructible_from<Store, const store_options&> && std::copyable<typename Store::handle> &&
    requires(Store store, const account& value, const account_name& name, std::uint64_t id,
             std::uint32_t limit, typename Store::handle handle, detail::any_reader read,
             detail::any_writer write) {
        { store.create(value) } -> std::same_as<typename Store::handle>;
        { store.handle_of(id) } -> std::same_as<typename Store::handle>;
        { store.find_by_id(id, read) } -> std::same_as<bool>;
        { store.find_by_name(name, read) } -> std::same_as<bool>;
        store.for_each_by_id(limit, read);
        store.for_each_by_name(limit, read);
        store.modify(handle, write);
        store.remove(handle);
        { store.held_bytes() } -> std::convertible_to<std::uint64_t>;
    };

/// A store with sessions over all its types. `start_session()` returns a session that is ended by
/// exactly one of `undo()`, `squash()` (into the one below it) and `push()` (it stays on the
/// stack); its destructor undoes an unended one. `commit(revision)` makes every pushed session up
/// to that revision permanent; `revision()` is that of the newest session.
template <typename Store>
concept undo_store =
    account_store<Store> && requires(Store store, decltype(store.start_session()) session) {
        session.undo();
        session.squash();
        session.push();
        { store.revision() } -> std::convertible_to<std::int64_t>;
        store.commit(store.revision());
    };

/// A store that reports its undo memory: the difference between two calls, before and after a batch
/// of `modify` in a session, is what the batch added.
template <typename Store>
concept measures_undo = requires(const Store store) {
    { store.undo_bytes() } -> std::convertible_to<std::uint64_t>;
};

/// A store whose undo_bytes() counts undo alone, not objects: the difference then holds for every
/// kind of change.
template <typename Store>
concept undo_is_apart = measures_undo<Store> && Store::undo_bytes_are_of_undo_alone;

/// A store that can release space on request.
template <typename Store>
concept compacts = requires(Store store) { store.compact(); };

/// A store that reads and writes in transactions: outside sessions every batch, timed or not, is
/// between these two calls. The destructor drops an unended batch.
template <typename Store>
concept batches = requires(Store store, access kind) {
    store.begin_batch(kind);
    store.end_batch();
};

/// A store's variant `Store::hashed` indexes the account by id and *hashed* name. It needs only
/// `create`, whose result is unused, and `find_by_name`.
template <typename Store>
concept has_hashed_variant =
    std::constructible_from<typename Store::hashed, const store_options&> &&
    requires(typename Store::hashed store, const account& value, const account_name& name,
             detail::any_reader read) {
        store.create(value);
        { store.find_by_name(name, read) } -> std::same_as<bool>;
    };

} // namespace chainbase::bench
