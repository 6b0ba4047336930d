#include <tools/driver/block_log_tools/log_merge.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_merge(command& verb) {
    struct call : merge_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->from, "the logs, in any order").required();
    verb.add_option("--to", options->to, "the log to make").required();
    verb.add_flag("--allow-gaps", options->allow_gaps,
                  "numbers may be missing between two logs: the chain has no such blocks");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("copying");
            const made_logs made = merge_logs(*options, shown);
            print_or_throw(options->json ? to_json(made.chain, made.logs) + "\n"
                                         : to_text(made.chain, made.logs));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
