#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/interruption.hpp>

#include <spdlog/spdlog.h>

namespace chainbase::driver::block_log_tools {

void run_tool(exit_code& result, const std::function<exit_code()>& work) {
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    try {
        result = work();
    } catch (const interrupted_error& how) {
        spdlog::warn(how.what());
        result = exit_code::interrupted;
    }
}

} // namespace chainbase::driver::block_log_tools
