#pragma once

#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/mapped_segment.hpp>

#include <boost/container/deque.hpp>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/containers/map.hpp>
#include <boost/interprocess/containers/set.hpp>

#include <cstdint>
#include <utility>

namespace chainbase::bench {

template <typename T>
using shared_allocator = boost::interprocess::allocator<T, mapped_segment::manager>;

/// What one session changed in one index: all that its undo needs. In shared memory.
///
/// Invariants: every id in `new_ids` is >= old_next_id, every other id here is below it; no id is
/// in two of the three; `old_values` are of objects that exist, `removed_values` of such that do
/// not.
struct undo_state {
    using values =
        boost::interprocess::map<std::uint64_t, account, std::less<std::uint64_t>,
                                 shared_allocator<std::pair<const std::uint64_t, account>>>;
    using ids = boost::interprocess::set<std::uint64_t, std::less<std::uint64_t>,
                                         shared_allocator<std::uint64_t>>;

    undo_state(const shared_allocator<account>& memory, std::uint64_t next_id,
               std::int64_t session_revision)
        : old_values(memory), removed_values(memory), new_ids(memory), old_next_id(next_id),
          revision(session_revision) {}

    [[nodiscard]] bool made(std::uint64_t id) const noexcept { return id >= old_next_id; }

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

/// One type with its undo stack, both in shared memory, the way this family of databases has done
/// it from the start: a session pushes a state; the first change of an object in it copies the
/// object there; undo writes the copies back through the container, one object at a time.
class classical_index : public account_table<ordered_accounts<shared_allocator<account>>> {
public:
    using container = ordered_accounts<shared_allocator<account>>;
    using table = account_table<container>;

    explicit classical_index(mapped_segment& segment)
        : table(segment.make<container>(shared_allocator<account>(segment.get()))),
          memory_(segment.get()), stack_(segment.make<undo_stack>(memory_)) {}

    handle create(const account& value) {
        const handle created = table::create(value);
        if (!stack_.empty()) stack_.back().new_ids.insert(value.id);
        next_id_ = value.id + 1;
        return created;
    }

    template <typename Write>
    void modify(handle target, Write&& write) {
        if (!stack_.empty()) keep_old_value(*target);
        table::modify(target, std::forward<Write>(write));
    }

    void remove(handle target) {
        if (!stack_.empty()) keep_removed(*target);
        table::remove(target);
    }

    void start_session(std::int64_t revision) { stack_.emplace_back(memory_, next_id_, revision); }
    void undo();

    /// The only session's changes become permanent, as there is no outer one to take them.
    void squash();

    /// Effects: drops the states of every session up to `revision`.
    void commit(std::int64_t revision) {
        while (!stack_.empty() && stack_.front().revision <= revision)
            stack_.pop_front();
    }

private:
    // The default block holds two states, so that every other session of every type would allocate
    // one; larger blocks make committing twice as fast and cost nothing else.
    using undo_stack = boost::container::deque<
        undo_state, shared_allocator<undo_state>,
        boost::container::deque_options_t<boost::container::block_size<32U>>>;

    void keep_old_value(const account& object) {
        undo_state& session = stack_.back();
        if (!session.made(object.id)) session.old_values.try_emplace(object.id, object);
    }
    void keep_removed(const account& object);

    shared_allocator<account> memory_;
    undo_stack& stack_;
    std::uint64_t next_id_ = 0;
};

} // namespace chainbase::bench
