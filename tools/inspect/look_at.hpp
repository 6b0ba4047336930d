#pragma once

#include <tools/command_line.hpp>

#include <string>

namespace chainbase::inspect {

/// Rethrows the exception being handled, which came from looking at the state in the folder
/// `state`. What the file system refuses becomes access_error or io_error; limit_error gets a
/// message for readers of a state that exists. Each says what to do.
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

/// Declares a verb that prints one report of a state: its arguments are DIR and --json, which is
/// described by `json_description`.
void declare_report(command& verb, const char* json_description,
                    void (*print)(const std::string& state, bool is_json));

} // namespace chainbase::inspect
