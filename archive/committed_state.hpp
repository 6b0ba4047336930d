#pragma once

#include <archive/lifecycle.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>
#include <chainbase/state_root/merkle_tree.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::archive {

/// The state root of a database: 32 bytes that commit to every object of the types that were added,
/// in memory and in the archive together.
///
///     committed_state root(state, 1);
///     root.add<account>("account");
///     root.add(comments);                              // a lifecycle
///     root.catch_up();
///     ...
///     session block = state.start_session();
///     apply(transactions);
///     root.update(block.revision());                   // before the block is complete
///     block.push();
///
/// Types that are not added are not committed to, and cost nothing. The set of added types is part
/// of the root's meaning: nodes that compare roots must agree on it.
///
/// Its tree is part of the state (chainbase/state_root/README.md), so undo reverts it with the
/// block; a catch_up() on top of undoable blocks is reverted with the last of them. Call update()
/// for each session that changes objects, before it is pushed or squashed into a session that was
/// updated: if one was left out, update() throws until catch_up(). It cannot detect a change
/// without a session and revision of its own: after such a change, after set_revision(), and after
/// squashing a session in which update() was called without note_revision(), call rebuild().
///
/// Used by the writer's thread, under the write lock; root() by any, under the read lock.
class committed_state {
public:
    /// `state` must outlive this. `threads` threads besides the caller's share the hashing; 0
    /// starts none. Throws what class merkle_tree throws, std::system_error when a thread cannot be
    /// started.
    committed_state(database& state, unsigned threads);
    ~committed_state();
    committed_state(const committed_state&) = delete;
    committed_state& operator=(const committed_state&) = delete;

    /// Restricts later add() calls to these types; an empty set allows all. The caller checks with
    /// offered() for types that were never added.
    void restrict_to(std::set<std::string> types) { only_ = std::move(types); }
    /// The objects in memory of T, registered in the state as `name`. Throws usage_error for a name
    /// that was added already, or that the state does not have. Fields of plain `char` do not
    /// compile: its sign differs between machines, and so would the root.
    template <object_type T>
    void add(const std::string& name);
    /// The objects of a life cycle, in memory and archived; add<T> would drop the archived ones
    /// from the root. The life cycle must outlive this. Throws the same.
    template <typename T>
    void add(const lifecycle<T>& of);

    /// Whether the tree matches the state's revision, the added types, and the digests of this
    /// version.
    [[nodiscard]] bool is_current() const;
    /// Rebuilds the tree from all objects, in a session of its own, unless it is current. For a
    /// state that has no root yet, was written without one, or has the root of another version.
    /// Throws what reading the archive and merkle_tree::update throw; then nothing changed.
    void catch_up();
    /// Rebuilds it even if it is current.
    void rebuild();
    /// Empties the tree, which then commits to nothing; this object must not be used any more.
    /// Throws as rebuild().
    void forget();
    /// Declares that the root matches the present state: for a caller that squashed the sessions in
    /// which update() was called, or changed objects that the root does not commit to.
    void note_revision() { tree_.note_revision(state_.revision()); }

    /// Updates the root with all objects touched since the session of `revision` began, as part of
    /// the current session. Returns a digest of the touched objects and their content, changed or
    /// not. Throws usage_error when that session cannot be undone any more, and when the tree
    /// matches neither the state before it nor the present state; and what merkle_tree::update
    /// throws; then nothing changed.
    sha256_digest update(revision_number revision);

    [[nodiscard]] sha256_digest root() const { return tree_.root(); }
    /// The root computed again from all objects; a difference from root() means damage or a missed
    /// update. Takes 64 bytes of memory for each object. Throws what reading the archive throws.
    [[nodiscard]] sha256_digest recomputed() const;
    /// The types that the root commits to.
    [[nodiscard]] std::set<std::string> types() const;
    /// All added types, including those that restrict_to() leaves out.
    [[nodiscard]] const std::set<std::string>& offered() const noexcept { return offered_; }
    [[nodiscard]] const state_root::merkle_tree& tree() const noexcept { return tree_; }

private:
    /// Ids of objects of a type, rising.
    struct archived_changes {
        std::vector<std::uint32_t> handed_over; ///< left memory; still objects unless removed
        std::vector<std::uint32_t> removed;     ///< were in the archive, or retired
    };
    struct source;
    struct committed_object {
        const source* of;
        std::uint32_t id;
    };
    /// A type whose objects the root commits to.
    struct source {
        virtual ~source() = default;
        /// Appends the content that the leaf of an object in memory commits to; false if there is
        /// no such object.
        [[nodiscard]] virtual bool append(std::uint32_t id, byte_buffer& to) const = 0;
        /// Calls visit(id, content) for each object, wherever it is, by rising id.
        virtual void
        each(const std::function<void(std::uint32_t, const byte_buffer&)>& visit) const = 0;
        /// The changes of a session to archived objects, if it touched any window of `bookkeeping`.
        [[nodiscard]] virtual archived_changes archived(revision_number since) const = 0;

        std::string name;
        std::uint16_t number = 0;               ///< in the tree
        std::uint32_t window = 0;               ///< of its objects in memory
        std::vector<std::uint32_t> bookkeeping; ///< windows that track archived objects
    };
    template <typename T>
    struct objects_in_memory;
    template <typename T>
    struct objects_of_lifecycle;

    void enter(std::unique_ptr<source> made, std::string name,
               const std::vector<std::string>& bookkeeping);
    void number_types();
    [[nodiscard]] bool has_types_of_tree() const;
    void require_tree_of(revision_number session) const;
    [[nodiscard]] std::uint32_t window_of(const std::string& type) const;
    static void count_archived(std::vector<std::uint32_t>& ids, const archived_changes& archived);
    [[nodiscard]] std::vector<committed_object> touched(revision_number since) const;
    [[nodiscard]] std::vector<state_root::leaf_change>
    leaves_of(const std::vector<committed_object>& objects) const;
    template <typename Visitor>
    void each_leaf(const source& from, Visitor&& visit) const;
    void add_all(const source& from);

    database& state_;
    state_root::merkle_tree tree_;
    std::set<std::string> only_;
    std::set<std::string> offered_;
    std::unique_ptr<thread_pool> pool_;
    std::vector<std::unique_ptr<source>> sources_; ///< by name
};

template <typename T>
struct committed_state::objects_in_memory : source {
    explicit objects_in_memory(const database& of) : state(of) {}
    bool append(std::uint32_t id, byte_buffer& to) const override {
        const T* object = state.find(chainbase::id<T>(id));
        if (object) append_described(found<T>(*object), to);
        return object != nullptr;
    }
    void each(const std::function<void(std::uint32_t, const byte_buffer&)>& visit) const override {
        byte_buffer content;
        for (const T& object : state.template objects<T>()) {
            content.clear();
            append_described(found<T>(object), content);
            visit(object.id.value, content);
        }
    }
    archived_changes archived(revision_number) const override { return {}; }

    const database& state;
};

template <typename T>
struct committed_state::objects_of_lifecycle final : objects_in_memory<T> {
    objects_of_lifecycle(const database& of, const lifecycle<T>& in)
        : objects_in_memory<T>(of), life(in) {}
    void each(const std::function<void(std::uint32_t, const byte_buffer&)>& visit) const override {
        byte_buffer content;
        life.for_each([&](const found<T>& object) {
            content.clear();
            append_described(object, content);
            visit(object.id().value, content);
        });
    }
    /// Entries that left the queue of retired objects were handed over, or removed, which
    /// removed_objects records.
    archived_changes archived(revision_number since) const override {
        archived_changes all;
        const state_changes changed = this->state.changes(since);
        for (const auto& one : changed.template of<detail::removed<T>>())
            if (one.kind == change_kind::created) all.removed.push_back(one.now->object.value);
        for (const auto& one : changed.template of<detail::retired<T>>())
            if (one.kind == change_kind::removed)
                all.handed_over.push_back(one.before->object.value);
        std::ranges::sort(all.removed);
        std::ranges::sort(all.handed_over);
        return all;
    }
    const lifecycle<T>& life;
};

namespace detail {

/// Finds plain `char` in a record's layout.
struct char_finder {
    bool found = false;
    constexpr void put(std::string_view part) { found = found || part == "char"; }
};

template <typename T>
consteval bool has_plain_char() {
    char_finder of_fields;
    codec<T>::layout(of_fields);
    return of_fields.found;
}

} // namespace detail

template <object_type T>
void committed_state::add(const std::string& name) {
    static_assert(!detail::has_plain_char<T>(), "say std::int8_t or std::uint8_t");
    enter(std::make_unique<objects_in_memory<T>>(state_), name, {});
}

template <typename T>
void committed_state::add(const lifecycle<T>& of) {
    static_assert(!detail::has_plain_char<T>(), "say std::int8_t or std::uint8_t");
    enter(std::make_unique<objects_of_lifecycle<T>>(state_, of), of.name(),
          {of.name() + ".retired", of.name() + ".removed"});
}

} // namespace chainbase::archive
