#include <tools/driver/block_log_tools/log_print.hpp>
#include <tools/driver/block_log_tools/range_options.hpp>
#include <tools/driver/block_log_tools/verbs.hpp>

#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::driver::block_log_tools {

void declare_print(command& verb) {
    struct call : print_options {};
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    add_range(verb, options->range);
    verb.add_option("--limit", options->limit, "blocks to print at most")
        .whole_number(0, UINT64_MAX);
    verb.add_flag("--operations", options->operations, "print what the blocks hold, too");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            log_progress shown("printing");
            const std::uint64_t faults = print_log(*options, shown);
            if (faults == 0) return exit_code::done;
            spdlog::error("{}: {} operations do not decode; block-log verify --operations tells "
                          "which",
                          options->log.string(), faults);
            return exit_code::failed;
        });
    });
}

} // namespace chainbase::driver::block_log_tools
