#pragma once

#include <tools/command_line.hpp>

#include <functional>

namespace chainbase::driver::block_log_tools {

/// Each declares its verb, one of `chainbase-driver block-log`.
void declare_info(command& verb);
void declare_print(command& verb);
void declare_verify(command& verb);
void declare_digest(command& verb);
void declare_split(command& verb);
void declare_merge(command& verb);
void declare_trim(command& verb);
void declare_repair_index(command& verb);
void declare_salvage(command& verb);

/// What each verb does when it is called: `work` with signals noted. A
/// second signal ends the process at once, since a search through damage may take a while; what it
/// leaves behind is called unfinished.
[[nodiscard]] exit_code run_tool(const std::function<exit_code()>& work);

} // namespace chainbase::driver::block_log_tools
