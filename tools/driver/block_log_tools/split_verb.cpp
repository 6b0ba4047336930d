#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_split.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void add_split_verb(CLI::App& tools, exit_code& result) {
    struct call : split_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = tools.add_subcommand("split", "Make several logs of one, in a new folder");
    verb->add_option("LOG", options->log, "the block log")->required();
    verb->add_option("--to-folder", options->to_folder, "the folder to make")->required();
    auto* at = verb->add_option("--at", options->at,
                                "number of a block that begins a piece; several: 100,200 or "
                                "--at 100 --at 200")
                   ->delimiter(',')
                   ->allow_extra_args(false)
                   ->transform(whole_number(0, UINT64_MAX));
    verb->add_option("--every", options->every, "blocks in a piece")
        ->transform(whole_number(1, UINT64_MAX))
        ->excludes(at);
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    verb->callback([options, &result] {
        run_tool(result, [&] {
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
