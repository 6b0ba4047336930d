#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_salvage.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void add_salvage_verb(CLI::App& tools, exit_code& result) {
    struct call : salvage_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb =
        tools.add_subcommand("salvage", "Make new logs of what is good in a damaged one");
    verb->add_option("LOG", options->log, "the block log")->required();
    auto* to = verb->add_option("--to", options->to, "a log of the blocks before the damage");
    verb->add_option("--to-folder", options->to_folder, "a folder with a log of every good stretch")
        ->excludes(to);
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    verb->callback([options, &result] {
        run_tool(result, [&] {
            if (options->to.empty() && options->to_folder.empty())
                throw usage_error("block-log salvage: say where to, with --to or --to-folder");
            log_progress shown("salvaging");
            const salvage_report report = salvage_log(*options, shown);
            print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
