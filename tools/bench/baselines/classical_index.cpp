#include <tools/bench/baselines/classical_index.hpp>

namespace chainbase::bench {

void classical_index::undo() {
    const undo_state<account>& session = stack_.back();
    for (const std::uint64_t id : session.new_ids)
        table::remove(handle_of(id));
    for (const auto& [id, value] : session.old_values)
        table::modify(handle_of(id), [&](account& object) { object = value; });
    for (const auto& [id, value] : session.removed_values)
        table::create(value);
    next_id_ = session.old_next_id;
    stack_.pop_back();
}

} // namespace chainbase::bench
