#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_split.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_split(command& verb) {
    struct call : split_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_option("--to-folder", options->to_folder, "the folder to make").required();
    command_option& at =
        verb.add_option("--at", options->at,
                        "number of a block that begins a piece; several: 100,200 or "
                        "--at 100 --at 200")
            .delimiter(',')
            .one_value_each_time()
            .whole_number(0, UINT64_MAX);
    verb.add_option("--every", options->every, "blocks in a piece")
        .whole_number(1, UINT64_MAX)
        .excludes(at);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            if (options->at.empty() && !options->every)
                throw usage_error("block-log split: say where, with --at or --every");
            log_progress shown("copying");
            const made_logs made = split_log(*options, shown);
            print_or_throw(options->json ? to_json(made.chain, made.logs) + "\n"
                                         : to_text(made.chain, made.logs));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
