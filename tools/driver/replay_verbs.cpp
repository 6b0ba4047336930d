#include <tools/driver/observation.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/root/bisection.hpp>
#include <tools/driver/root/known_roots.hpp>
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

void declare_roots(command& verb) {
    struct call {
        std::filesystem::path from;
        std::uint64_t first = 1;
        std::uint64_t last = UINT64_MAX;
        std::size_t newest = SIZE_MAX;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("STATE", options->from,
                    "folder of the state, running or not; or what this wrote")
        .required();
    verb.add_option("--from", options->first, "number of the first block")
        .whole_number(1, UINT64_MAX);
    verb.add_option("--to", options->last, "number of the last block").whole_number(1, UINT64_MAX);
    verb.add_option("--newest", options->newest, "so many blocks at most, the newest ones")
        .whole_number(1, UINT32_MAX);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        known_roots all = known_roots::read(options->from);
        all.keep(options->first, options->last, options->newest);
        print_or_throw(options->json ? all.to_json() + "\n" : all.to_text(), "call again");
        return exit_code::done;
    });
}

void declare_bisect(command& verb) {
    struct call {
        std::filesystem::path a;
        std::filesystem::path b;
        std::size_t objects = 20;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("A", options->a, "folder of a state with a root, or what `roots` wrote")
        .required();
    verb.add_option("B", options->b, "another one").required();
    verb.add_option("--objects", options->objects, "objects to name at most")
        .whole_number(1, 1'000'000)
        .shows_default();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const bisection found = bisection::of(options->a, options->b, options->objects);
        print_or_throw(options->json ? to_json(found) + "\n" : to_text(found), "call again");
        return found.is_different() ? exit_code::different
               : found.has_moved    ? exit_code::moved
                                    : exit_code::done;
    });
}

} // namespace chainbase::driver
