#include <tools/driver/live/live.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/verb_options.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void declare_live(command& verb) {
    struct call : live::live_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    add_following_options(verb, *options);
    add_reading_options(verb, options->reading);
    add_batch_option(verb, options->batch);
    verb.add_option("--pending", options->pending,
                    "how many transactions of coming blocks arrive before their block")
        .whole_number(0, 10'000'000)
        .shows_default();
    verb.add_option("--shuffle", options->shuffle, "they arrive out of order, by this seed")
        .whole_number(0, UINT64_MAX);
    add_milliseconds(verb, "--interval-ms", options->interval, 0,
                     "between blocks; 0: as fast as they come");
    add_milliseconds(verb, "--budget-ms", options->budget, 0,
                     "time after a block to apply again what is pending");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const live::live_report report = live::live(*options, signals);
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        return report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
