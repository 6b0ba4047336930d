#include <pool_allocator/error.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/driver/verb_options.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void declare_sync(command& verb) {
    struct call : sync_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    add_following_options(verb, *options);
    verb.add_flag("--verify", options->verify, "look for every object by id and by key");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const sync_report report = sync(*options, signals);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        return report.state.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
