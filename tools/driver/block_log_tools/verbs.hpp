#pragma once

#include <tools/program.hpp>

#include <functional>

namespace chainbase::driver::block_log_tools {

/// Each adds its verb to `chainbase-driver block-log`.
void add_info_verb(CLI::App& tools, exit_code& result);
void add_print_verb(CLI::App& tools, exit_code& result);
void add_verify_verb(CLI::App& tools, exit_code& result);
void add_digest_verb(CLI::App& tools, exit_code& result);
void add_split_verb(CLI::App& tools, exit_code& result);
void add_merge_verb(CLI::App& tools, exit_code& result);
void add_trim_verb(CLI::App& tools, exit_code& result);
void add_repair_index_verb(CLI::App& tools, exit_code& result);
void add_salvage_verb(CLI::App& tools, exit_code& result);

/// What each verb does when it is called: `work` with signals noted, its outcome into `result`. A
/// second signal ends the process at once, since a search through damage may take a while; what it
/// leaves behind is called unfinished.
void run_tool(exit_code& result, const std::function<exit_code()>& work);

} // namespace chainbase::driver::block_log_tools
