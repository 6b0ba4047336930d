#include <tools/bench/bench_setup.hpp>
#include <tools/bench/readers.hpp>
#include <tools/bench/readers_bench.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::bench {

void add_readers_bench(CLI::App& program) {
    const auto options = std::make_shared<readers_options>();
    options->directory = default_directory();
    options->inspect =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "chainbase-inspect";
    CLI::App* command = program.add_subcommand(
        "readers", "What a writer loses to inspectors that look at its state meanwhile");
    command->add_option("--objects", options->objects, "How many accounts")
        ->capture_default_str()
        ->transform(whole_number(1000, 100'000'000));
    command->add_option("--readers", options->readers, "How many inspectors at once")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command->add_option("--milliseconds", options->milliseconds, "How long each setting runs")
        ->capture_default_str()
        ->transform(whole_number(10, 1'000'000));
    command->add_option("--rounds", options->rounds, "Rounds, all settings in each")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command->add_option("--inspect", options->inspect, "The inspector")->capture_default_str();
    command->add_option("--directory", options->directory, "Where the state is made")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    command->callback([options] { run_readers(*options); });
}

} // namespace chainbase::bench
