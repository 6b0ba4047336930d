#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/driver/verbs.hpp>

namespace chainbase::driver {

void add_block_log_verb(CLI::App& program, exit_code& result) {
    CLI::App* tools =
        program.add_subcommand("block-log", "Look at, cut, join and repair block logs");
    tools->require_subcommand(1);
    block_log_tools::add_info_verb(*tools, result);
    block_log_tools::add_print_verb(*tools, result);
    block_log_tools::add_verify_verb(*tools, result);
    block_log_tools::add_digest_verb(*tools, result);
    block_log_tools::add_split_verb(*tools, result);
    block_log_tools::add_merge_verb(*tools, result);
    block_log_tools::add_trim_verb(*tools, result);
    block_log_tools::add_repair_index_verb(*tools, result);
    block_log_tools::add_salvage_verb(*tools, result);
}

} // namespace chainbase::driver
