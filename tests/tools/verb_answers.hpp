#pragma once

#include <string>

namespace chainbase::test {

/// What chainbase-inspect printed about a state that the driver writes at full speed. Each requires
/// that what is told holds, and returns whether anything was: a state that moved while it was
/// looked at has less to tell. Throws nlohmann::json::exception for what is no JSON.

/// False when the sample was not consistent.
bool check_stat(const std::string& output);
bool check_map(const std::string& output);
bool check_tree(const std::string& output);
/// Of `range`, in the order of by_cashout_time, which the id makes unique.
bool check_comments(const std::string& output);
/// Of `dump`: each block tells how many there were, which is its number: a torn one would not.
bool check_blocks(const std::string& output);
/// Any verb that prints one object.
bool check_object(const std::string& output);
/// Of `get` of id 0.
bool check_one_row(const std::string& output);
bool check_sample(const std::string& output);
/// False when no look saw the state.
bool check_top(const std::string& output);
/// There is a digest exactly when the state did not move.
bool check_digest(const std::string& output);
/// Of `warm --dry-run`.
bool check_warm(const std::string& output);

} // namespace chainbase::test
