#include <tools/bench/bench_setup.hpp>
#include <tools/bench/crash.hpp>
#include <tools/bench/crash_bench.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/whole_number.hpp>

#include <memory>
#include <string>

namespace chainbase::bench {

void add_crash_bench(CLI::App& program) {
    const auto options = std::make_shared<crash_options>();
    options->directory = std::filesystem::temp_directory_path();
    options->memory = default_directory();
    CLI::App* command = program.add_subcommand(
        "crash", "Blocks that are durable, and opening again after a kill, in every engine");
    command->add_option("--objects", options->objects, "How many accounts")
        ->capture_default_str()
        ->transform(whole_number(1000, 500'000'000));
    command->add_option("--payments", options->payments, "Payments in a block")
        ->capture_default_str()
        ->transform(whole_number(2, 10'000'000));
    command->add_option("--blocks", options->blocks, "Blocks that are timed")
        ->capture_default_str()
        ->transform(whole_number(1, 1'000'000));
    command->add_option("--rounds", options->rounds, "Rounds, engines interleaved in each")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command
        ->add_option("--engines", options->engines,
                     "Comma-separated, all by default: " + engine_list(crash_engines()))
        ->delimiter(',')
        ->check(CLI::Validator(check_engine<find_crash_engine>, "ENGINE"));
    command
        ->add_option("--directory", options->directory,
                     "On storage: databases, and the checkpoints of chainbase")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_option("--memory", options->memory, "Where chainbase has its segment")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    command->callback([options] { run_crash(*options); });
}

} // namespace chainbase::bench
