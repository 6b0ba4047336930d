#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_verify(command& verb) {
    struct call {
        std::filesystem::path log;
        bool operations = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_flag("--operations", options->operations, "decode each operation, too");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("verifying");
            const log_verification found = verify_log(options->log, options->operations, shown);
            print_or_throw(options->json ? to_json(found) + "\n" : to_text(found));
            return found.good() ? exit_code::done : exit_code::failed;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
