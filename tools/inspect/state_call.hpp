#pragma once

#include <tools/command_line.hpp>
#include <tools/print.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace chainbase::inspect {

/// Rethrows the current exception, which came from reading the state in the folder `state`.
/// Refusals of the file system become access_error or io_error; limit_error gets a message for
/// readers of an existing state; format_error for a missing state becomes usage_error where `state`
/// names a checkpoint. Each message says what to do.
[[noreturn]] void rethrow_for_reader(const std::string& state);

/// While a process writes the state, this thread, and those that it starts, take the processor time
/// that others leave.
void yield_to_writer(const std::string& state) noexcept;

/// Returns the result of `work()`, which reads the state in the folder `state`; its exceptions pass
/// through rethrow_for_reader().
template <typename Work>
auto look_at(const std::string& state, Work&& work) {
    try {
        return work();
    } catch (...) {
        rethrow_for_reader(state);
    }
}

/// Warns on stderr that the writer of a state died, and that the output shows what the next opening
/// rolls back to.
void warn_if_rolled_back(bool is_rolled_back, const std::string& state, std::int64_t revision);

/// The common arguments of verbs that read one state.
struct state_call {
    std::string state;
    bool json = false;
};

/// Declares the argument DIR of a verb that reads a state: run(call) does so, and returns the exit
/// code, or nothing when there is only one. Its exceptions pass through rethrow_for_reader().
/// Returns the call, to which further options can be bound.
template <typename Call, typename Run>
std::shared_ptr<Call> declare_look(command& verb, Run run,
                                   const char* description = "The folder of the state") {
    const auto asked = std::make_shared<Call>();
    verb.add_option("DIR", asked->state, description).required();
    verb.runs([asked, run] {
        yield_to_writer(asked->state);
        return look_at(asked->state, [&] {
            if constexpr (std::is_same_v<decltype(run(*asked)), exit_code>)
                return run(*asked);
            else
                return run(*asked), exit_code::done;
        });
    });
    return asked;
}

/// Declares a verb that prints the result of read(state): as_text() or, with --json, as_json().
template <typename Read>
void declare_report(command& verb, const char* json_description, Read read) {
    const auto asked = declare_look<state_call>(verb, [read](const state_call& call) {
        const auto found = read(call.state);
        print_or_throw(call.json ? as_json(found) : as_text(found));
    });
    verb.add_flag("--json", asked->json, json_description);
}

} // namespace chainbase::inspect
