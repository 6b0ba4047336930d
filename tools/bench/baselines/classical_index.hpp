#pragma once

#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/segment_store.hpp>

#include <boost/container/deque.hpp>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/containers/map.hpp>
#include <boost/interprocess/containers/set.hpp>

#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

namespace chainbase::bench {

template <typename T>
using shared_allocator = boost::interprocess::allocator<T, mapped_segment::manager>;

/// What one session changed in one type: all that its undo needs. In shared memory.
///
/// Invariants: every id in `new_ids` is >= old_next_id, every other id here is below it; no id is
/// in two of the three; `old_values` are of objects that exist, `removed_values` of such that do
/// not.
template <typename Object>
struct undo_state {
    using values =
        boost::interprocess::map<std::uint64_t, Object, std::less<std::uint64_t>,
                                 shared_allocator<std::pair<const std::uint64_t, Object>>>;
    using ids = boost::interprocess::set<std::uint64_t, std::less<std::uint64_t>,
                                         shared_allocator<std::uint64_t>>;

    undo_state(const shared_allocator<Object>& memory, std::uint64_t next_id,
               std::int64_t session_revision)
        : old_values(memory), removed_values(memory), new_ids(memory), old_next_id(next_id),
          revision(session_revision) {}

    [[nodiscard]] bool made(std::uint64_t id) const noexcept { return id >= old_next_id; }

    /// Effects: notes what undo needs before the object of `id` is changed or removed.
    void keep_old_value(std::uint64_t id, const Object& object) {
        if (!made(id)) old_values.try_emplace(id, object);
    }
    void keep_removed(std::uint64_t id, const Object& object) {
        if (made(id))
            new_ids.erase(id);
        else if (!move_to_removed(id))
            removed_values.try_emplace(id, object);
    }

    /// Effects: the object of `id`, of which keep_old_value() knows, is gone.
    void keep_lost(std::uint64_t id) {
        if (made(id))
            new_ids.erase(id);
        else
            move_to_removed(id);
    }

    /// Effects: takes over what the next inner session changed, so that undoing this one undoes
    /// both. Nodes change hands, except of objects that this session modified and the inner one
    /// removed.
    void merge(undo_state& inner);

    /// Effects: when there is an old value of this object, which is being removed, makes that the
    /// removed value. Returns: whether there is.
    bool move_to_removed(std::uint64_t id);

    values old_values;
    values removed_values;
    ids new_ids;
    std::uint64_t old_next_id;
    std::int64_t revision;
};

/// The sessions of one type. The default block holds two states, so that every other session of
/// every type would allocate one; larger blocks make committing twice as fast and cost nothing
/// else.
template <typename Object>
using undo_stack =
    boost::container::deque<undo_state<Object>, shared_allocator<undo_state<Object>>,
                            boost::container::deque_options_t<boost::container::block_size<32U>>>;

/// Effects: the newest session's changes become the outer one's; without one, permanent.
template <typename Object>
void squash_newest(undo_stack<Object>& stack) {
    if (stack.size() > 1) stack[stack.size() - 2].merge(stack.back());
    stack.pop_back();
}

/// Effects: drops the states of every session up to `revision`.
template <typename Object>
void commit_up_to(undo_stack<Object>& stack, std::int64_t revision) {
    while (!stack.empty() && stack.front().revision <= revision)
        stack.pop_front();
}

template <typename Object>
void undo_state<Object>::merge(undo_state& inner) {
    // What this session made needs no old value: undo removes the whole object.
    inner.old_values.erase(inner.old_values.lower_bound(old_next_id), inner.old_values.end());
    old_values.merge(inner.old_values); // where both have one, the older stays
    for (auto at = inner.removed_values.begin(); at != inner.removed_values.end();) {
        const std::uint64_t id = at->first;
        const bool known = new_ids.erase(id) > 0 || move_to_removed(id);
        at = known ? inner.removed_values.erase(at) : std::next(at);
    }
    removed_values.merge(inner.removed_values);
    new_ids.merge(inner.new_ids);
}

template <typename Object>
bool undo_state<Object>::move_to_removed(std::uint64_t id) {
    const auto old = old_values.find(id);
    if (old == old_values.end()) return false;
    removed_values.try_emplace(id, old->second);
    old_values.erase(old);
    return true;
}

/// One type with its undo stack, both in shared memory, the way this family of databases has done
/// it from the start: a session pushes a state; the first change of an object in it copies the
/// object there; undo writes the copies back through the container, one object at a time.
class classical_index : public account_table<ordered_accounts<shared_allocator<account>>> {
public:
    using container = ordered_accounts<shared_allocator<account>>;
    using table = account_table<container>;

    explicit classical_index(mapped_segment& segment)
        : table(segment.make<container>(shared_allocator<account>(segment.get()))),
          memory_(segment.get()), stack_(segment.make<undo_stack<account>>(memory_)) {}

    handle create(const account& value) {
        const handle created = table::create(value);
        if (!stack_.empty()) stack_.back().new_ids.insert(value.id);
        next_id_ = value.id + 1;
        return created;
    }

    template <typename Write>
    void modify(handle target, Write&& write) {
        if (!stack_.empty()) stack_.back().keep_old_value(target->id, *target);
        table::modify(target, std::forward<Write>(write));
    }

    void remove(handle target) {
        if (!stack_.empty()) stack_.back().keep_removed(target->id, *target);
        table::remove(target);
    }

    void start_session(std::int64_t revision) { stack_.emplace_back(memory_, next_id_, revision); }
    void undo();

    /// The only session's changes become permanent, as there is no outer one to take them.
    void squash() { squash_newest<account>(stack_); }

    /// Effects: drops the states of every session up to `revision`.
    void commit(std::int64_t revision) { commit_up_to<account>(stack_, revision); }

private:
    shared_allocator<account> memory_;
    undo_stack<account>& stack_;
    std::uint64_t next_id_ = 0;
};

} // namespace chainbase::bench
