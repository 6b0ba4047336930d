#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/driver/verbs.hpp>

namespace chainbase::driver {

namespace {

constexpr verb_entry verbs[] = {
    {"info", "What a block log holds, at a glance; changes nothing", block_log_tools::declare_info},
    {"print", "The blocks of a range, a line of JSON for each", block_log_tools::declare_print},
    {"verify", "Look at every byte of a block log: what is wrong, where, and what survives",
     block_log_tools::declare_verify},
    {"digest", "A number for the blocks of a range, however they are packed",
     block_log_tools::declare_digest},
    {"split", "Make several logs of one, in a new folder", block_log_tools::declare_split},
    {"merge", "Make one log of several of the same chain", block_log_tools::declare_merge},
    {"trim", "Make a new log of the blocks of a range", block_log_tools::declare_trim},
    {"repair-index", "Build the index beside a log anew", block_log_tools::declare_repair_index},
    {"salvage", "Make new logs of what is good in a damaged one", block_log_tools::declare_salvage},
};

} // namespace

void declare_block_log(command& verb) {
    verb.add_verbs(verbs);
}

} // namespace chainbase::driver
