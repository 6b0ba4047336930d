#include <tools/driver/live/live.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/verb_options.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::driver {

void add_live_verb(CLI::App& program, exit_code& result) {
    struct call : live::live_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand(
        "live", "Run a node: blocks one by one, transactions before them, readers beside");
    add_following_options(*verb, *options);
    add_reading_options(*verb, options->reading);
    add_batch_option(*verb, options->batch);
    verb->add_option("--pending", options->pending,
                     "how many transactions of coming blocks arrive before their block")
        ->transform(whole_number(0, 10'000'000))
        ->capture_default_str();
    verb->add_option("--shuffle", options->shuffle, "they arrive out of order, by this seed")
        ->transform(whole_number(0, UINT64_MAX));
    add_milliseconds(*verb, "--interval-ms", options->interval, 0,
                     "between blocks; 0: as fast as they come");
    add_milliseconds(*verb, "--budget-ms", options->budget, 0,
                     "time after a block to apply again what is pending");
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(*verb, options->watch);
    verb->callback([options, &result] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const live::live_report report = live::live(*options, signals);
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        result = report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
