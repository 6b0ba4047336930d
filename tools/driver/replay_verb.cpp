#include <tools/driver/observation.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/verb_options.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void declare_replay(command& verb) {
    struct call : replay_options {
        bool json = false;
        observation_options watch;
        std::filesystem::path expected_from;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--block-log", options->block_log, "the log; its chain chooses the rules")
        .required();
    verb.add_option("--state", options->state, "folder of the state; made when there is none")
        .required();
    add_promise_options(verb, options->promise);
    verb.add_option("--from", options->from,
                    "number of the first block to apply; refused unless it is the next")
        .whole_number(1, UINT64_MAX);
    verb.add_option("--stop-at", options->stop_at, "number of the last block to apply")
        .whole_number(0, UINT64_MAX);
    verb.add_option("--threads", options->threads,
                    "threads that read and decode blocks; default: those that the machine has "
                    "beside the one that applies")
        .whole_number(1, 64);
    verb.add_flag("--validate", options->validate,
                  "check the chain's sums after every step, not only at the end");
    verb.add_flag("--verify", options->verify, "look for every object by id and by key");
    verb.add_option_function<std::string>(
            "--verify-roots",
            [options](const std::string& from) {
                if (from.empty())
                    options->verify_root = true;
                else
                    options->expected_from = from;
            },
            "stop behind the first block whose root is not the one that this has, another state or "
            "what `roots` wrote; without FROM: make the root anew from all objects at the end")
        .optional_value()
        .value_name("[FROM]");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        if (!options->expected_from.empty())
            options->expected = known_roots::read(options->expected_from);
        const replay_report report = replay(*options, signals);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        return report.root && report.root->differs ? exit_code::different
               : report.interrupted                ? exit_code::interrupted
                                                   : exit_code::done;
    });
}

} // namespace chainbase::driver
