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
/// Types that are not added are not committed to, and cost nothing. Which ones are is part of what
/// the root means: nodes that compare roots must agree on it.
///
/// What it keeps is part of the state (chainbase/state_root/README.md), so undo takes it back with
/// the block; and a catch_up() on top of blocks that can be undone with the last of them. Each
/// session that changes objects has to be told of, before it is pushed or squashed into one that
/// was: update() refuses to go on when one was left out, until catch_up(). What it cannot see is a
/// change that has no session, nor a revision of its own: after such, after set_revision(), and
/// after a session that update() was called in was squashed and not noted, call rebuild().
///
/// Used by the writer's thread, under the write lock; root() by any, under the read lock.
class committed_state {
public:
    /// `state` outlives this. So many `threads` besides the caller's share the hashing; none is
    /// started for 0. Throws what class merkle_tree throws, std::system_error when a thread cannot
    /// be started.
    committed_state(database& state, unsigned threads);
    ~committed_state();
    committed_state(const committed_state&) = delete;
    committed_state& operator=(const committed_state&) = delete;

    /// Of what is added from here on, only these types count; if there are none, all do. Those that
    /// are not added at all are for the caller to look for: offered().
    void restrict_to(std::set<std::string> types) { only_ = std::move(types); }
    /// The objects in memory of T, registered in the state as `name`. Throws usage_error for a name
    /// that was added already, or that the state does not have. Fields of plain `char` do not
    /// compile: nodes of another machine, where it has another sign, would have another root.
    template <object_type T>
    void add(const std::string& name);
    /// The objects of a life cycle, in memory and archived: add<T> would take those out of the root
    /// that are archived. It outlives this. Throws the same.
    template <typename T>
    void add(const lifecycle<T>& of);

    /// Whether the tree is as of the state's revision, of the types that were added, and by the
    /// digests of this version.
    [[nodiscard]] bool is_current() const;
    /// Makes the tree anew from all objects, in a session of its own, unless it is current. For a
    /// state that has no root yet, or that was written without one, or that another version made
    /// the root of. Throws what reading the archive and merkle_tree::update throw; then nothing
    /// changed.
    void catch_up();
    /// The same in any case.
    void rebuild();
    /// Takes everything out of the tree, which commits to nothing from here on: this object is of
    /// no further use. Throws as rebuild().
    void forget();
    /// Declares the root to be that of the state as it is now: for a caller that squashed the
    /// sessions that update() was called in, or changed what it does not commit to.
    void note_revision() { tree_.note_revision(state_.revision()); }

    /// Brings the root up to date with what was touched since the session of `revision` began,
    /// as part of the session under way. Returns a digest of that: of what was written to which
    /// object, whether or not it was another content. Throws usage_error when that session cannot
    /// be undone any more, and when the tree is neither that of the state before it nor that of the
    /// state as it is; and what merkle_tree::update throws; then nothing changed.
    sha256_digest update(revision_number revision);

    [[nodiscard]] sha256_digest root() const { return tree_.root(); }
    /// What the root would be if it were made anew from all objects: the same, or something is
    /// wrong. Takes 64 bytes of memory for each object. Throws what reading the archive throws.
    [[nodiscard]] sha256_digest recomputed() const;
    /// Those that are committed to.
    [[nodiscard]] std::set<std::string> types() const;
    /// Those that were added, whether or not restrict_to() lets them count.
    [[nodiscard]] const std::set<std::string>& offered() const noexcept { return offered_; }
    [[nodiscard]] const state_root::merkle_tree& tree() const noexcept { return tree_; }

private:
    /// Ids of objects of a type, rising.
    struct archived_changes {
        std::vector<std::uint32_t> handed_over; ///< out of memory, and still objects if not removed
        std::vector<std::uint32_t> removed;     ///< which were in the archive, or on the way to it
    };
    struct source;
    struct committed_object {
        const source* of;
        std::uint32_t id;
    };
    /// A type whose objects are committed to.
    struct source {
        virtual ~source() = default;
        /// Appends what the leaf of an object in memory commits to; false: there is none.
        [[nodiscard]] virtual bool append(std::uint32_t id, byte_buffer& to) const = 0;
        /// Calls visit(id, content) for each object, wherever it is, by rising id.
        virtual void
        each(const std::function<void(std::uint32_t, const byte_buffer&)>& visit) const = 0;
        /// What a session did beyond memory, when it touched any of `bookkeeping`.
        [[nodiscard]] virtual archived_changes archived(revision_number since) const = 0;

        std::string name;
        std::uint16_t number = 0;               ///< in the tree
        std::uint32_t window = 0;               ///< of its objects in memory
        std::vector<std::uint32_t> bookkeeping; ///< windows of what tells of its archived objects
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
    std::unique_ptr<state_root::thread_pool> pool_;
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
    /// What left the queue of the retired was handed over; or removed, then that says so, too.
    archived_changes archived(revision_number since) const override {
        archived_changes all;
        for (const auto& one : this->state.template changes<detail::removed<T>>(since))
            if (one.kind == change_kind::created) all.removed.push_back(one.now->object.value);
        for (const auto& one : this->state.template changes<detail::retired<T>>(since))
            if (one.kind == change_kind::removed)
                all.handed_over.push_back(one.before->object.value);
        std::ranges::sort(all.removed);
        std::ranges::sort(all.handed_over);
        return all;
    }
    const lifecycle<T>& life;
};

namespace detail {

/// Looks for plain `char` among the types that a record's layout tells of.
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
