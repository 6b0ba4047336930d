#pragma once

#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/undo_state.hpp>

#include <cstdint>
#include <utility>

namespace chainbase::bench {

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
