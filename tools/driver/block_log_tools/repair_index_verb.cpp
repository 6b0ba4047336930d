#include <tools/driver/block_log_tools/index_repair.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_repair_index(command& verb) {
    struct call {
        std::filesystem::path log;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("verifying");
            const index_repair report = repair_index(options->log, shown);
            print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
