#pragma once

#include <pool_allocator/error.hpp>

#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace chainbase::inspect {

/// Says again, for who only looks, what was meant for who creates a state.
[[noreturn]] inline void throw_limit(const std::string& state, const limit_error& problem) {
    rlimit addresses{};
    const bool is_known = getrlimit(RLIMIT_AS, &addresses) == 0;
    if (!is_known || addresses.rlim_cur == RLIM_INFINITY) throw problem;
    throw limit_error(state +
                      ": the addresses that the state was made for do not fit `ulimit -v` (" +
                      std::to_string(addresses.rlim_cur / 1024) +
                      " KiB); raise it for this program: `ulimit -v unlimited`");
}

/// What a verb does with the state in the folder `state`, with what the file system refuses told as
/// one of the errors that a message says what to do about.
template <typename Work>
auto look_at(const std::string& state, Work&& work) {
    try {
        return work();
    } catch (const limit_error& problem) {
        throw_limit(state, problem);
    } catch (const std::filesystem::filesystem_error& problem) {
        const std::string where = problem.path1().empty() ? state : problem.path1().string();
        if (problem.code() == std::errc::permission_denied ||
            problem.code() == std::errc::operation_not_permitted)
            throw access_error(where + ": this user may not look at it; run the program as the "
                                       "user that it belongs to, or as one of the group that its "
                                       "readers were given");
        throw io_error(where + ": " + problem.code().message() + "; check the path");
    }
}

} // namespace chainbase::inspect
