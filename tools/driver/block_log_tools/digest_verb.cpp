#include <tools/driver/block_log_tools/log_digest.hpp>
#include <tools/driver/block_log_tools/range_options.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_digest(command& verb) {
    struct call {
        std::filesystem::path log;
        block_range range;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    add_range(verb, options->range);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("reading");
            const log_digest digest = digest_of(options->log, options->range, shown);
            print_or_throw(options->json ? to_json(digest) + "\n" : to_text(digest));
            return exit_code::done;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
