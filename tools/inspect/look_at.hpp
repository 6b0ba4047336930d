#pragma once

#include <tools/command_line.hpp>
#include <tools/print.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace chainbase::inspect {

/// Rethrows the exception being handled, which came from looking at the state in the folder
/// `state`. What the file system refuses becomes access_error or io_error; limit_error gets a
/// message for readers of a state that exists; format_error for want of a state, where `state`
/// names a checkpoint, usage_error. Each says what to do.
[[noreturn]] void rethrow_for_reader(const std::string& state);

/// What `work()`, which looks at the state in the folder `state`, returns; its exceptions as
/// rethrow_for_reader() has them.
template <typename Work>
auto look_at(const std::string& state, Work&& work) {
    try {
        return work();
    } catch (...) {
        rethrow_for_reader(state);
    }
}

/// Says on stderr, if it is so, that the writer of a state died, and that what is shown is what the
/// next opening rolls back to.
void warn_if_rolled_back(bool is_rolled_back, const std::string& state, std::int64_t revision);

/// What each verb that looks at one state is asked for.
struct state_call {
    std::string state;
    bool json = false;
};

/// Declares the argument DIR of a verb that looks at the state there: run(call) does so, and
/// returns how the verb ends, or nothing when there is but one way. Its exceptions are as
/// rethrow_for_reader() has them. Returns the call, to which further options are to be bound.
template <typename Call, typename Run>
std::shared_ptr<Call> declare_look(command& verb, Run run,
                                   const char* description = "The folder of the state") {
    const auto asked = std::make_shared<Call>();
    verb.add_option("DIR", asked->state, description).required();
    verb.runs([asked, run] {
        return look_at(asked->state, [&] {
            if constexpr (std::is_same_v<decltype(run(*asked)), exit_code>)
                return run(*asked);
            else
                return run(*asked), exit_code::done;
        });
    });
    return asked;
}

/// Declares a verb that prints what read(state) returns, as_text() or with --json as_json() of it.
template <typename Read>
void declare_report(command& verb, const char* json_description, Read read) {
    const auto asked = declare_look<state_call>(verb, [read](const state_call& call) {
        const auto found = read(call.state);
        print_or_throw(call.json ? as_json(found) : as_text(found));
    });
    verb.add_flag("--json", asked->json, json_description);
}

} // namespace chainbase::inspect
