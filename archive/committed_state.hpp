#pragma once

#include <archive/lifecycle.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>
#include <chainbase/state_root/background_tree.hpp>
#include <chainbase/state_root/recorded_root.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
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
/// The recorded root is part of the state (chainbase/state_root/recorded_root.hpp), so undo reverts
/// it with the block. The tree below it is in this process' memory: it is made from all objects
/// where a state is opened, and after undo the objects that the block had changed are read again.
///
/// update() is two steps, of which the first leaves the hashing to a thread:
///
///     session step = state.start_session();
///     root.note_revision();                            // nothing has changed in it so far
///     session first = state.start_session();
///     ...
///     auto of_first = root.follow(first.revision());   // gathers what the session changed
///     root.squash(first);
///     ...                                              // more sessions
///     root.record();                                   // waits for the tree
///     step.push();
///
/// Call update() or follow() for each session that changes objects, before it is pushed or
/// squashed: if a session was left out, both throw until catch_up(). They cannot detect a change
/// without a session and revision of its own: after such a change, and after set_revision(), call
/// rebuild().
///
/// Used by the writer's thread, under the write lock; root() by any, under the read lock.
class committed_state {
public:
    /// `state` must outlive this. `threads` threads hash (class state_root::background_tree); 0:
    /// the caller does. Throws what database::add_type throws, limit_error when no thread can be
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

    /// Whether the recorded root is of the state's revision, the added types, and this version.
    [[nodiscard]] bool is_current() const;
    /// Makes the tree unless it follows the state: from the leaves that were kept (keep_leaves), or
    /// from all objects. Records its root, in a session of its own that is squashed, unless the
    /// recorded one is current: for a state that has no root yet, was written without one, or has
    /// that of another version. Call it once before the first session. Throws damaged_error when
    /// the recorded root is current and not that of the objects, and what reading the archive
    /// throws; then nothing changed.
    void catch_up();
    /// Makes the tree from all objects and records its root, also if it is current.
    void rebuild();
    /// Removes what the state has of a root; this object must not be used any more. Throws as
    /// rebuild().
    void forget();
    /// Declares that the root matches the present state: for a caller that undid sessions within
    /// one that goes on, or changed objects that the root does not commit to.
    void note_revision();

    /// Gathers all objects touched since the session of `revision` began, and has the tree follow
    /// them; record() then comes before the outermost session is complete. Throws usage_error when
    /// that session cannot be undone any more, and when the tree matches neither the state before
    /// it nor the present state; then nothing changed.
    std::shared_future<state_root::block_digests> follow(revision_number revision);
    /// Squashes the newest session, which was followed. A recorded root that is current stays so.
    void squash(session& followed);
    /// Waits for the tree, and records its root as that of the present state, as part of the
    /// current session. Throws usage_error when the tree does not follow the present state, and
    /// what background_tree::settled() and database::modify throw.
    void record();
    /// follow() and record(). Returns the digest of the touched objects and their content, changed
    /// or not.
    sha256_digest update(revision_number revision);

    /// The recorded one. Zeros: there is none.
    [[nodiscard]] sha256_digest root() const;
    /// How many objects it commits to.
    [[nodiscard]] std::uint64_t objects() const;
    /// The root computed from all objects; a difference from root() means damage or a missed
    /// update. Throws what reading the archive throws.
    [[nodiscard]] sha256_digest recomputed() const;
    /// The tree of the present state. Requires that each session was followed. Valid until the next
    /// call. Throws usage_error when it was not caught up, and what settled() throws.
    [[nodiscard]] const state_root::state_tree& tree();
    /// Writes its leaves beside the state (leaves_file.hpp), to be called before that is closed;
    /// does nothing unless the recorded root is current and the tree follows. A failure is logged.
    void keep_leaves() noexcept;
    /// The types that the root commits to.
    [[nodiscard]] std::set<std::string> types() const;
    /// Those of the recorded root.
    [[nodiscard]] std::set<std::string> recorded_types() const;
    /// Of the recorded root: state_root::current_format, or that of another version; 0: there is
    /// none.
    [[nodiscard]] std::uint32_t format() const;
    /// All added types, including those that restrict_to() leaves out.
    [[nodiscard]] const std::set<std::string>& offered() const noexcept { return offered_; }

private:
    /// Ids of objects of a type, rising.
    struct archived_changes {
        std::vector<std::uint32_t> handed_over; ///< left memory; still objects unless removed
        std::vector<std::uint32_t> removed;     ///< were in the archive, or retired
    };
    struct committed_object {
        std::uint32_t type; ///< its source's number
        std::uint32_t id;
        friend auto operator<=>(const committed_object&, const committed_object&) = default;
    };
    /// A type whose objects the root commits to.
    struct source {
        virtual ~source() = default;
        /// Appends the record of an object in memory; false if there is no such object.
        [[nodiscard]] virtual bool append(std::uint32_t id, byte_buffer& to) const = 0;
        /// Of an object wherever it is.
        [[nodiscard]] virtual bool append_from_anywhere(std::uint32_t id,
                                                        byte_buffer& to) const = 0;
        /// Calls visit(id, content) for each object, wherever it is, by rising id.
        virtual void
        each(const std::function<void(std::uint32_t, const byte_buffer&)>& visit) const = 0;
        /// The changes of a session to archived objects, if it touched any window of `bookkeeping`.
        [[nodiscard]] virtual archived_changes archived(revision_number since) const = 0;

        std::string name;
        std::uint32_t number = 0;               ///< its place among the sources
        std::uint32_t window = 0;               ///< of its objects in memory
        std::vector<std::uint32_t> bookkeeping; ///< windows that track archived objects
    };
    template <typename T>
    struct objects_in_memory;
    template <typename T>
    struct objects_of_lifecycle;
    /// A session that the tree followed and that may still be undone.
    struct followed_session {
        revision_number revision;
        std::uint32_t serial; ///< tells it apart from others of that revision
        std::vector<committed_object> touched;
        bool is_recorded; ///< nothing is missing in the recorded root
    };

    void enter(std::unique_ptr<source> made, std::string name,
               const std::vector<std::string>& bookkeeping);
    [[nodiscard]] const state_root::recorded_root* recorded() const;
    [[nodiscard]] bool has_recorded_types() const;
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::uint32_t window_of(const std::string& type) const;
    static void count_archived(std::vector<std::uint32_t>& ids, const archived_changes& archived);
    [[nodiscard]] std::vector<committed_object> touched(revision_number since) const;
    void add_all(state_root::background_tree& to) const;
    void make_tree();
    [[nodiscard]] std::unique_ptr<state_root::background_tree> tree_of_kept_leaves();
    [[nodiscard]] std::filesystem::path leaves_file() const;
    void begin_journal();
    [[nodiscard]] bool is_there(const followed_session& one) const;
    [[nodiscard]] bool is_all_recorded() const;
    void leave_undone_sessions();
    [[nodiscard]] revision_number followed_revision() const noexcept;
    [[nodiscard]] bool follows() const noexcept;
    [[nodiscard]] std::shared_future<state_root::block_digests>
    send(const std::vector<committed_object>& touched);
    void record_anew();
    void write_record(const state_root::state_tree& tree);
    [[nodiscard]] const state_root::state_tree& settled();

    database& state_;
    unsigned threads_;
    std::set<std::string> only_;
    std::set<std::string> offered_;
    std::vector<std::unique_ptr<source>> sources_;      ///< by name
    std::unique_ptr<state_root::background_tree> tree_; ///< null: to be made
    sha256_digest kept_root_{};            ///< of the leaves in the file, if it is known
    std::deque<followed_session> journal_; ///< the newest last
    revision_number base_ = 0;             ///< of the tree before the oldest in the journal
    /// What sessions had changed that were undone: to be read again.
    std::vector<committed_object> stale_;
};

template <typename T>
struct committed_state::objects_in_memory : source {
    explicit objects_in_memory(const database& of) : state(of) {}
    bool append(std::uint32_t id, byte_buffer& to) const override {
        const T* object = state.find(chainbase::id<T>(id));
        if (object) append_described(found<T>(*object), to);
        return object != nullptr;
    }
    bool append_from_anywhere(std::uint32_t id, byte_buffer& to) const override {
        return append(id, to);
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
    bool append_from_anywhere(std::uint32_t id, byte_buffer& to) const override {
        const std::optional<found<T>> object = life.find(chainbase::id<T>(id));
        if (object) append_described(*object, to);
        return object.has_value();
    }
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
