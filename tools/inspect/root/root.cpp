#include <tools/inspect/look_at.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace chainbase::inspect {

namespace {

struct call {
    std::string state;
    root_report::question question;
    bool json = false;
};

exit_code run(const call& asked) {
    const root_report found = root_report::of(asked.state, asked.question);
    if (found.is_rolled_back)
        spdlog::warn("{}: its writer died; this is what the next opening rolls back to, revision "
                     "{}",
                     asked.state, found.revision);
    if (asked.json)
        print_or_throw(as_json(found, asked.state));
    else
        print_or_throw(as_text(found, asked.state));
    if (found.has_moved) {
        spdlog::error("{}: its writer changed it each time that its nodes were gone through, so "
                      "nothing but the root is told; look at its newest checkpoint "
                      "({}@checkpoint), or call again when its writer waits",
                      asked.state, asked.state);
        return exit_code::moved;
    }
    return !found.verified || found.is_sound() ? exit_code::done : exit_code::damaged;
}

} // namespace

void declare_root(command& verb) {
    const auto asked = std::make_shared<call>();
    asked->question.threads = std::max(1U, std::thread::hardware_concurrency());
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--verify", asked->question.verify,
                  "Make every digest anew, from the objects up, and say what is not as the root "
                  "says");
    verb.add_option("--limit", asked->question.limit,
                    "Faults that are named of each kind at most; 0: all")
        .shows_default()
        .whole_number(0, UINT64_MAX);
    verb.add_option("--threads", asked->question.threads,
                    "Threads that verify; else one for each processor")
        .whole_number(1, 1024);
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return look_at(asked->state, [&] { return run(*asked); }); });
}

} // namespace chainbase::inspect
