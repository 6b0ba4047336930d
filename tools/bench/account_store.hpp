#pragma once

#include <tools/bench/account.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>

namespace chainbase::bench {

/// How an engine's database is to be opened.
struct store_options {
    /// An empty folder of its own, on the file system under test; removed by the caller afterwards.
    std::filesystem::path directory;
    /// An upper limit of the objects that will live at once, for engines that size files ahead.
    std::uint32_t objects = 0;
    /// How many types to register: the account and types - 1 others that stay empty.
    std::uint32_t types = 1;
    /// Whether sessions will be used.
    bool sessions = false;
};

/// What the writes or reads between begin_batch and end_batch are.
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

/// The primitives that an engine supplies; the timed loops over them are the workload's and the
/// same for every engine. A store is constructed from store_options (an empty database), used by
/// one thread, and frees everything in its destructor. Any failure is an exception.
///
/// - `handle`: whatever the engine's users keep to reach an object without a lookup: a pointer, or
///   the id. Valid until the object is removed; after an undone removal it is asked for again.
/// - `create(value)`: stores an object with these fields, checks that id, name and balance with id
///   are unique, and returns its handle. Ids are asked for in order from 0; an engine that assigns
///   ids itself ignores value.id, since it comes to the same.
/// - `handle_of(id)`: the handle of an existing object; never timed.
/// - `find_by_id(id, read)`, `find_by_name(name, read)`: call `read(const object&)` if the object
///   exists, and tell whether it does. The object may have a type of its own with the fields of
///   `account`; it need not outlive the call.
/// - `for_each_by_id(limit, read)`, `for_each_by_name(limit, read)`: the first `limit` in order.
/// - `modify(handle, write)`: calls `write(object&)` and stores the result under all indexes.
/// - `remove(handle)`.
/// - `held_bytes()`: what the store holds and nothing else of the same state can use: objects,
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

/// A store with sessions, over all its types at once. `start_session()` returns a session that is
/// ended by exactly one of `undo()`, `squash()` (into the one below it) and `push()` (it stays on
/// the stack); one that is destroyed without any of these is undone. `commit(revision)` makes every
/// pushed session up to that revision permanent; `revision()` is that of the newest session.
template <typename Store>
concept undo_store =
    account_store<Store> && requires(Store store, decltype(store.start_session()) session) {
        session.undo();
        session.squash();
        session.push();
        { store.revision() } -> std::convertible_to<std::int64_t>;
        store.commit(store.revision());
    };

/// A store that tells what its undo takes: the difference of two calls, before and after a batch of
/// `modify` in a session, is what that batch added.
template <typename Store>
concept measures_undo = requires(const Store store) {
    { store.undo_bytes() } -> std::convertible_to<std::uint64_t>;
};

/// One whose undo_bytes() counts undo alone, not objects: then the same holds for every kind of
/// change.
template <typename Store>
concept undo_is_apart = measures_undo<Store> && Store::undo_bytes_are_of_undo_alone;

/// A store that can give back space on request.
template <typename Store>
concept compacts = requires(Store store) { store.compact(); };

/// A store that reads and writes in transactions: outside sessions every batch, timed or not,
/// stands between these two. A batch that is begun and never ended is dropped by the destructor.
template <typename Store>
concept batches = requires(Store store, access kind) {
    store.begin_batch(kind);
    store.end_batch();
};

/// The variant `Store::hashed` of a store keeps the account under id and *hashed* name. It needs
/// only `create`, whose result nobody uses, and `find_by_name`.
template <typename Store>
concept has_hashed_variant =
    std::constructible_from<typename Store::hashed, const store_options&> &&
    requires(typename Store::hashed store, const account& value, const account_name& name,
             detail::any_reader read) {
        store.create(value);
        { store.find_by_name(name, read) } -> std::same_as<bool>;
    };

} // namespace chainbase::bench
