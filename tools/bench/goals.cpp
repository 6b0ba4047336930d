#include <tools/bench/goals.hpp>

#include <algorithm>
#include <iterator>

namespace chainbase::bench {

namespace {

constexpr goal goals[] = {
    {"find_by_id", 0.1, "find_by_id"},
    {"find_by_name", 0.7, "find_by_name"},
    {"find_by_name_hashed", 0.1, "find_by_name"},
    {"create", 0.7, "create"},
    {"modify", 0.2, "modify"},
    {"modify_key", 0.7, "modify_key"},
    {"remove", 0.5, "remove"},
    {"session_create", 0.6, "session_create"},
    {"session_modify", 0.1, "session_modify"},
    {"session_modify_key", 0.5, "session_modify_key"},
    {"session_remove", 0.25, "session_remove"},
    {"undo_create", 0.15, "undo_create"},
    {"undo_modify", 0.03, "undo_modify"},
    {"undo_modify_key", 0.06, "undo_modify_key"},
    {"undo_remove", 0.04, "undo_remove"},
    {"session_3_undo", 0.06, "session_3_undo"},
    {"session_3_squash", 0.06, "session_3_squash"},
    {"session_3_commit", 0.06, "session_3_commit"},
    {"empty_session", 20, ""},
    {"squash", 200, ""},
    {"commit_call", 200, ""},
    {"object_bytes", 104, ""},
    {"undo_bytes_modify", 88, ""},
    {"object_bytes_after_third_removed", 158, ""},
    {"object_bytes_after_compact", 110, ""},
    {"replay", 0.5, "replay"},
    {"replay_waiting", 0.05, ""},
    {"sync_to_replay", 1.08, ""},
    {"live_block", 0.2, "live_block"},
    {"reopen_after_kill", 50e6, ""},
    {"open_clean", 100e6, ""},
    {"barrier_cold", 0.05, ""},
    {"barrier_hot", 0.1, ""},
    {"checkpoint_pause_per_100_mib", 5e6, ""},
    {"checkpoint_bytes_to_dirty", 2, ""},
    {"restore_per_gib", 1e9, ""},
    {"replay_to_kept", 1.05, ""},
    {"memory_to_kept", 0.15, ""},
    {"find_warm", 3000, ""},
    {"find_by_id_warm", 3000, ""},
    {"find_nowhere", 1000, ""},
    {"find_by_id_cold_blocks", 1, ""},
    {"find_cold_blocks", 1, ""},
    {"block_to_alone_attached", 1.05, ""},
    {"block_to_alone_pausing", 1.05, ""},
    {"disk_to_encoded", 0.7, ""},
    {"inner_node_ratio", 0.26, ""},
    {"bytes_per_object", 80, ""},
    {"update_50000_two_threads", 100e6, ""}, // among 10 M
    {"proof_bytes", 1.2 * 1024, ""},         // of 1 M
    {"proof_bytes_largest", 1.2 * 1024, ""},
    {"verify", 10'000, ""},
    {"replay_with_root_to_without", 1.25, ""},
};

} // namespace

std::optional<goal> goal_of(std::string_view operation) noexcept {
    const auto found = std::find_if(std::begin(goals), std::end(goals),
                                    [&](const goal& each) { return each.operation == operation; });
    if (found == std::end(goals)) return std::nullopt;
    return *found;
}

} // namespace chainbase::bench
