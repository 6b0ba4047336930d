#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/chain_engines.hpp>
#include <tools/bench/growth.hpp>

#include <memory>

namespace chainbase::bench {

void declare_growth(command& verb) {
    const auto options = std::make_shared<growth_options>();
    options->directory = default_directory();
    verb.add_option("--objects", options->objects, "Sizes to measure at, rising")
        .delimiter(',')
        .whole_number(2, 500'000'000);
    verb.add_option("--operations", options->operations, "Payments, and new accounts, timed")
        .shows_default()
        .whole_number(1, 10'000'000);
    verb.add_option("--rounds", options->rounds, "Rounds, engines interleaved in each")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--engines", options->engines, "Comma-separated; chainbase,classical")
        .delimiter(',')
        .check(check_engine<find_chain_engine>)
        .value_name("ENGINE");
    verb.add_option("--directory", options->directory, "Where the states are made")
        .shows_default()
        .existing_folder();
    command_option& csv = verb.add_flag("--csv", options->csv, "Comma-separated values on stdout");
    verb.add_flag("--json", options->json, "One JSON object on stdout").excludes(csv);
    verb.runs([options] {
        run_growth(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
