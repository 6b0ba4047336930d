#include <tools/driver/live/load_files.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/verb_options.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::driver {

namespace {

struct load_call : live::load_options {
    std::uint64_t start_rate = 100'000;
    std::uint64_t step = 0;
    std::uint64_t last_rate = 100'000'000;
    bool json = false;
    observation_options watch;
};

void add_chain_options(command& verb, load_call& to) {
    verb.add_option("--workload", to.workload, "payments or social")
        .one_of({"payments", "social"})
        .shows_default();
    verb.add_option("--accounts", to.accounts, "accounts of the chain")
        .whole_number(2, 50'000'000)
        .shows_default();
    verb.add_option("--seed", to.seed, "what is drawn at random is the same for the same seed")
        .whole_number(0, UINT64_MAX)
        .shows_default();
    verb.add_option("--state", to.state,
                    "a new folder for the state; default: one in memory, that goes away");
    verb.add_option("--lag", to.lag, "blocks that can be popped")
        .whole_number(0, 100'000)
        .shows_default();
    add_milliseconds(verb, "--interval-ms", to.interval, 1, "between blocks");
    add_milliseconds(verb, "--pending-budget-ms", to.pending_budget, 0,
                     "time of each interval for pending transactions; 0: all of it");
    add_batch_option(verb, to.batch);
    add_reading_options(verb, to.reading);
}

void add_rate_options(command& verb, load_call& to) {
    verb.add_option("--start-rate", to.start_rate, "transactions a second to begin with")
        .whole_number(1, 100'000'000)
        .shows_default();
    command_option& step = verb.add_option("--step", to.step, "how much more each step is (50000)")
                               .whole_number(1, 100'000'000);
    verb.add_option("--factor", to.steps.factor, "how many times the last one each step is")
        .real_number(1.001, 1000.)
        .excludes(step);
    verb.add_option("--last-rate", to.last_rate, "no higher one is tried")
        .whole_number(1, 100'000'000);
    verb.add_option("--seconds", to.seconds, "that each rate is kept up")
        .whole_number(1, 86'400)
        .shows_default();
}

void complete(load_call& options) {
    options.steps.start = static_cast<double>(options.start_rate);
    options.steps.last = static_cast<double>(options.last_rate);
    options.steps.more = static_cast<double>(options.step);
    if (options.step == 0 && options.steps.factor == 1) options.steps.more = 50'000;
}

} // namespace

void declare_load(command& verb) {
    const auto options = std::make_shared<load_call>();
    add_chain_options(verb, *options);
    add_rate_options(verb, *options);
    verb.add_option("--to", options->to, "folder for load.csv, load.json and load.svg");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        complete(*options);
        const catch_interruption signals;
        const observation watched(options->watch);
        std::optional<live::load_files> files;
        if (!options->to.empty()) files.emplace(options->to);
        const live::load_report report = live::load(*options, signals);
        if (const auto missing = files ? files->write(report) : std::nullopt)
            spdlog::warn("{}", *missing);
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        return report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
