#include <tools/bench/baselines/classical_index.hpp>

namespace chainbase::bench {

void undo_state::merge(undo_state& inner) {
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

bool undo_state::move_to_removed(std::uint64_t id) {
    const auto old = old_values.find(id);
    if (old == old_values.end()) return false;
    removed_values.try_emplace(id, old->second);
    old_values.erase(old);
    return true;
}

void classical_index::keep_removed(const account& object) {
    undo_state& session = stack_.back();
    if (session.made(object.id))
        session.new_ids.erase(object.id);
    else if (!session.move_to_removed(object.id))
        session.removed_values.try_emplace(object.id, object);
}

void classical_index::undo() {
    undo_state& session = stack_.back();
    for (const std::uint64_t id : session.new_ids)
        table::remove(handle_of(id));
    for (const auto& [id, value] : session.old_values)
        table::modify(handle_of(id), [&](account& object) { object = value; });
    for (const auto& [id, value] : session.removed_values)
        table::create(value);
    next_id_ = session.old_next_id;
    stack_.pop_back();
}

void classical_index::squash() {
    if (stack_.size() > 1) stack_[stack_.size() - 2].merge(stack_.back());
    stack_.pop_back();
}

} // namespace chainbase::bench
