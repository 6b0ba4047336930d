#include <pool_allocator/error.hpp>
#include <tools/inspect/look_at.hpp>

#include <sys/resource.h>

#include <filesystem>
#include <system_error>

namespace chainbase::inspect {

namespace {

/// The engine's message is for a program that creates a state.
[[noreturn]] void throw_limit(const std::string& state, const limit_error& problem) {
    rlimit addresses{};
    const bool is_known = getrlimit(RLIMIT_AS, &addresses) == 0;
    if (!is_known || addresses.rlim_cur == RLIM_INFINITY) throw problem;
    throw limit_error(state +
                      ": the addresses that the state was made for do not fit `ulimit -v` (" +
                      std::to_string(addresses.rlim_cur / 1024) +
                      " KiB); raise it for this program: `ulimit -v unlimited`");
}

} // namespace

void rethrow_for_reader(const std::string& state) {
    try {
        throw;
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

void declare_report(command& verb, const char* json_description,
                    void (*print)(const std::string& state, bool is_json)) {
    struct call {
        std::string state;
        bool json = false;
    };
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--json", asked->json, json_description);
    verb.runs([asked, print] {
        look_at(asked->state, [&] { print(asked->state, asked->json); });
        return exit_code::done;
    });
}

} // namespace chainbase::inspect
