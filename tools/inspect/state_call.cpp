#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state_call.hpp>

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace chainbase::inspect {

namespace {

/// The engine's message addresses a program that creates a state.
[[noreturn]] void throw_limit(const std::string& state, const limit_error& problem) {
    rlimit addresses{};
    const bool is_known = getrlimit(RLIMIT_AS, &addresses) == 0;
    if (!is_known || addresses.rlim_cur == RLIM_INFINITY) throw problem;
    throw limit_error(state +
                      ": the addresses that the state was made for do not fit `ulimit -v` (" +
                      std::to_string(addresses.rlim_cur / 1024) +
                      " KiB); raise it for this program: `ulimit -v unlimited`");
}

/// A verb without checkpoint support takes a checkpoint's name for a missing folder.
[[noreturn]] void throw_not_there(const std::string& name, const format_error& problem) {
    const auto state = named_state::state_of(name);
    if (!state || !std::string_view(problem.what()).starts_with(name + ": ")) throw;
    throw usage_error(name +
                      ": this verb reads a state, not a checkpoint of one; give the folder, " +
                      *state + " (`check --checkpoint` checks its checkpoints, `info` lists them)");
}

} // namespace

void yield_to_writer(const std::string& state) noexcept {
    constexpr int lowest = 19;
    try {
        if (file_lock::is_held(std::filesystem::path(state) / "lock"))
            setpriority(PRIO_PROCESS, 0, lowest);
    } catch (...) { // is no reason not to read
    }
}

void rethrow_for_reader(const std::string& state) {
    try {
        throw;
    } catch (const limit_error& problem) {
        throw_limit(state, problem);
    } catch (const format_error& problem) {
        throw_not_there(state, problem);
    } catch (const std::filesystem::filesystem_error& problem) {
        const std::string where = problem.path1().empty() ? state : problem.path1().string();
        if (problem.code() == std::errc::permission_denied ||
            problem.code() == std::errc::operation_not_permitted)
            throw access_error(where + ": this user may not read it; run the program as the "
                                       "owner of the state, or as a member of the group of its "
                                       "readers");
        throw io_error(where + ": " + problem.code().message() + "; check the path");
    }
}

void warn_if_rolled_back(bool is_rolled_back, const std::string& state, std::int64_t revision) {
    if (is_rolled_back)
        spdlog::warn("{}: its writer died; this is what the next opening rolls back to, revision "
                     "{}",
                     state, revision);
}

} // namespace chainbase::inspect
