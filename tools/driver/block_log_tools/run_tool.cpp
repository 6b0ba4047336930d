#include <tools/driver/block_log_tools/verbs.hpp>
#include <tools/interruption.hpp>

#include <spdlog/spdlog.h>

namespace chainbase::driver::block_log_tools {

exit_code run_tool(const std::function<exit_code()>& work) {
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    try {
        return work();
    } catch (const interrupted_error& how) {
        spdlog::warn(how.what());
        return exit_code::interrupted;
    }
}

} // namespace chainbase::driver::block_log_tools
