#include <tools/driver/block_log_tools/log_trim.hpp>
#include <tools/driver/block_log_tools/range_options.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_trim(command& verb) {
    struct call {
        std::filesystem::path log;
        std::filesystem::path to;
        block_range range;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_option("--to", options->to, "the log to make").required();
    add_range(verb, options->range);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("copying");
            const made_logs made = trim_log(options->log, options->to, options->range, shown);
            print_or_throw(options->json ? to_json(made.chain, made.logs) + "\n"
                                         : to_text(made.chain, made.logs));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
