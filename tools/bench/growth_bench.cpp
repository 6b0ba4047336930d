#include <tools/bench/bench_setup.hpp>
#include <tools/bench/chain_engines.hpp>
#include <tools/bench/growth.hpp>
#include <tools/bench/growth_bench.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::bench {

void add_growth_bench(CLI::App& program) {
    const auto options = std::make_shared<growth_options>();
    options->directory = default_directory();
    CLI::App* command = program.add_subcommand(
        "growth", "What operations cost as the state of a payments chain grows");
    command->add_option("--objects", options->objects, "Sizes to measure at, rising")
        ->delimiter(',')
        ->transform(whole_number(2, 500'000'000));
    command->add_option("--operations", options->operations, "Payments, and new accounts, timed")
        ->capture_default_str()
        ->transform(whole_number(1, 10'000'000));
    command->add_option("--rounds", options->rounds, "Rounds, engines interleaved in each")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command->add_option("--engines", options->engines, "Comma-separated; chainbase,classical")
        ->delimiter(',')
        ->check(CLI::Validator(check_engine<find_chain_engine>, "ENGINE"));
    command->add_option("--directory", options->directory, "Where the states are made")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    auto* csv = command->add_flag("--csv", options->csv, "Comma-separated values on stdout");
    command->add_flag("--json", options->json, "One JSON object on stdout")->excludes(csv);
    command->callback([options] { run_growth(*options); });
}

} // namespace chainbase::bench
