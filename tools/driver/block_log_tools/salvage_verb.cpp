#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_salvage.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_salvage(command& verb) {
    struct call : salvage_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    command_option& to =
        verb.add_option("--to", options->to, "a log of the blocks before the damage");
    verb.add_option("--to-folder", options->to_folder, "a folder with a log of every good stretch")
        .excludes(to);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
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
