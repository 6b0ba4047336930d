#include <tools/driver/block_log_tools/log_info.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_info(command& verb) {
    struct call {
        std::filesystem::path log;
        bool count = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_flag("--count", options->count, "read all blocks and count what they hold");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("reading");
            const log_info info = info_of(options->log, options->count, shown);
            print_or_throw(options->json ? to_json(info) + "\n" : to_text(info));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
