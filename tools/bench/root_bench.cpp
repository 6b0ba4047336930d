#include <tools/bench/bench_setup.hpp>
#include <tools/bench/root.hpp>
#include <tools/bench/root_bench.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::bench {

void add_root_bench(CLI::App& program) {
    const auto options = std::make_shared<root_options>();
    options->directory = default_directory();
    CLI::App* command = program.add_subcommand(
        "root", "What the state root takes: its tree, updates, proofs, and a replay with it");
    command->add_option("--objects", options->objects, "How many the tree commits to")
        ->capture_default_str()
        ->transform(whole_number(100'000, 100'000'000));
    command
        ->add_option("--operations", options->operations,
                     "Of the log that is replayed with a root and without; 0: no replay")
        ->capture_default_str()
        ->transform(whole_number(0, 100'000'000));
    command->add_option("--rounds", options->rounds, "Rounds, all settings in each")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command->add_option("--directory", options->directory, "Where the states are made")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    command->callback([options] { run_root(*options); });
}

} // namespace chainbase::bench
