#include <tools/bench/archive.hpp>
#include <tools/bench/archive_bench.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::bench {

void add_archive_bench(CLI::App& program) {
    const auto options = std::make_shared<archive_options>();
    options->directory = std::filesystem::temp_directory_path();
    options->memory = default_directory();
    CLI::App* command = program.add_subcommand(
        "archive", "A social chain whose paid comments leave memory, beside one that keeps them");
    command->add_option("--rows", options->rows, "Comments; of a long log, most get paid")
        ->capture_default_str()
        ->transform(whole_number(10'000, 200'000'000));
    command->add_option("--mix", options->mix, "Operations of the log, as `generate` takes them")
        ->capture_default_str();
    command->add_option("--finds", options->finds, "Lookups of each kind, timed one by one")
        ->capture_default_str()
        ->transform(whole_number(100, 100'000'000));
    command->add_option("--cache-mib", options->cache_mib, "The archive's cache while it is warm")
        ->capture_default_str()
        ->transform(whole_number(1, 1'000'000));
    command->add_option("--rounds", options->rounds, "Rounds, both chains in each")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command->add_option("--directory", options->directory, "On storage: the log and the archive")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_option("--memory", options->memory, "Where the segments are")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    command->callback([options] { run_archive(*options); });
}

} // namespace chainbase::bench
