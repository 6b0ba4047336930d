#include <tools/driver/live/live.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::driver {

namespace {

struct live_call : live::live_options {
    std::uint64_t interval_ms = 0;
    std::uint64_t budget_ms = 200;
    std::uint64_t questions = 1000;
    bool json = false;
    observation_options watch;
};

void add_node_options(CLI::App& verb, live_call& to) {
    verb.add_option("--readers", to.reading.threads, "threads that ask what an API is asked (0)")
        ->transform(whole_number(0, 64));
    verb.add_option("--questions", to.questions,
                    "questions a second of each reader; 0: without a pause (1000)")
        ->transform(whole_number(0, 10'000'000));
    verb.add_option("--pending", to.pending,
                    "how many transactions of coming blocks arrive before their block (1000)")
        ->transform(whole_number(0, 10'000'000));
    verb.add_option("--shuffle", to.shuffle, "they arrive out of order, by this seed")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--interval-ms", to.interval_ms, "between blocks; 0: as fast as it goes (0)")
        ->transform(whole_number(0, 3'600'000));
    verb.add_option("--budget-ms", to.budget_ms,
                    "time after a block to apply again what is pending (200)")
        ->transform(whole_number(0, 3'600'000));
    verb.add_option("--batch", to.batch.transactions,
                    "transactions each time the write lock is taken; 0: all that wait, for at most "
                    "5 ms (0)")
        ->transform(whole_number(0, 1'000'000));
}

} // namespace

void add_live_verb(CLI::App& program, exit_code& result) {
    const auto options = std::make_shared<live_call>();
    CLI::App* verb = program.add_subcommand(
        "live", "Run a node: blocks one by one, transactions before them, readers beside");
    verb->add_option("--block-log", options->block_log, "where the blocks come from")->required();
    verb->add_option("--state", options->state, "folder of the state; made when there is none")
        ->required();
    add_node_options(*verb, *options);
    verb->add_option("--lag", options->lag, "blocks that can be popped (20)")
        ->transform(whole_number(0, 100'000));
    verb->add_option("--stop-at", options->stop_at, "number of the last block to apply")
        ->transform(whole_number(0, UINT64_MAX));
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(*verb, options->watch);
    verb->callback([options, &result] {
        options->interval = std::chrono::milliseconds(options->interval_ms);
        options->budget = std::chrono::milliseconds(options->budget_ms);
        options->reading.questions_per_second = static_cast<double>(options->questions);
        const catch_interruption signals;
        const observation watched(options->watch);
        const live::live_report report = live::live(*options, signals);
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        result = report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
