#include <tools/driver/live/load_files.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::driver {

namespace {

struct load_call : live::load_options {
    std::uint64_t interval_ms = 1000;
    std::uint64_t budget_ms = 0;
    std::uint64_t start_rate = 100'000;
    std::uint64_t step = 0;
    std::uint64_t last_rate = 100'000'000;
    std::uint64_t step_seconds = 10;
    std::uint64_t questions = 1000;
    bool json = false;
    observation_options watch;
};

void add_chain_options(CLI::App& verb, load_call& to) {
    verb.add_option("--workload", to.workload, "payments (the default) or social")
        ->check(CLI::IsMember({"payments", "social"}));
    verb.add_option("--accounts", to.accounts, "accounts of the chain (5000)")
        ->transform(whole_number(2, 50'000'000));
    verb.add_option("--seed", to.seed, "what is drawn at random is the same for the same seed (1)")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--state", to.state,
                    "a new folder for the state; default: one in memory, that goes away");
    verb.add_option("--lag", to.lag, "blocks that can be popped (3)")
        ->transform(whole_number(0, 100'000));
    verb.add_option("--interval-ms", to.interval_ms, "between blocks (1000)")
        ->transform(whole_number(1, 3'600'000));
    verb.add_option("--pending-budget-ms", to.budget_ms,
                    "time of each interval for pending transactions; 0: all of it (0)")
        ->transform(whole_number(0, 3'600'000));
    verb.add_option("--batch", to.batch.transactions,
                    "transactions each time the write lock is taken; 0: all that wait, for at most "
                    "5 ms (0)")
        ->transform(whole_number(0, 1'000'000));
}

void add_rate_options(CLI::App& verb, load_call& to) {
    verb.add_option("--start-rate", to.start_rate, "transactions a second to begin with (100000)")
        ->transform(whole_number(1, 100'000'000));
    const auto step = verb.add_option("--step", to.step, "how much more each step is (50000)")
                          ->transform(whole_number(1, 100'000'000));
    verb.add_option("--factor", to.steps.factor, "how many times the last one each step is")
        ->check(CLI::Range(1.001, 1000.))
        ->excludes(step);
    verb.add_option("--last-rate", to.last_rate, "no higher one is tried")
        ->transform(whole_number(1, 100'000'000));
    verb.add_option("--seconds", to.step_seconds, "that each rate is kept up (10)")
        ->transform(whole_number(1, 86'400));
    verb.add_option("--readers", to.reading.threads, "threads that ask what an API is asked (2)")
        ->transform(whole_number(0, 64));
    verb.add_option("--questions", to.questions,
                    "questions a second of each reader; 0: without a pause (1000)")
        ->transform(whole_number(0, 10'000'000));
}

void complete(load_call& options) {
    options.interval = std::chrono::milliseconds(options.interval_ms);
    options.pending_budget = std::chrono::milliseconds(options.budget_ms);
    options.seconds = static_cast<double>(options.step_seconds);
    options.steps.start = static_cast<double>(options.start_rate);
    options.steps.last = static_cast<double>(options.last_rate);
    options.steps.more = static_cast<double>(options.step);
    if (options.step == 0 && options.steps.factor == 1) options.steps.more = 50'000;
    options.reading.questions_per_second = static_cast<double>(options.questions);
}

} // namespace

void add_load_verb(CLI::App& program, exit_code& result) {
    const auto options = std::make_shared<load_call>();
    CLI::App* verb = program.add_subcommand(
        "load", "Raise the rate of transactions until a node does not keep up");
    add_chain_options(*verb, *options);
    add_rate_options(*verb, *options);
    verb->add_option("--to", options->to, "folder for load.csv, load.json and load.svg");
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(*verb, options->watch);
    verb->callback([options, &result] {
        complete(*options);
        const catch_interruption signals;
        const observation watched(options->watch);
        std::optional<live::load_files> files;
        if (!options->to.empty()) files.emplace(options->to);
        const live::load_report report = live::load(*options, signals);
        if (const auto missing = files ? files->write(report) : std::nullopt)
            spdlog::warn("{}", *missing);
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        result = report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
