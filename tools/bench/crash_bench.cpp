#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/crash.hpp>
#include <tools/bench/crash_engine.hpp>

#include <memory>
#include <string>

namespace chainbase::bench {

void declare_crash(command& verb) {
    const auto options = std::make_shared<crash_options>();
    options->directory = std::filesystem::temp_directory_path();
    options->memory = default_directory();
    verb.add_option("--objects", options->objects, "How many accounts")
        .shows_default()
        .whole_number(1000, 500'000'000);
    verb.add_option("--payments", options->payments, "Payments in a block")
        .shows_default()
        .whole_number(2, 10'000'000);
    verb.add_option("--blocks", options->blocks, "Blocks that are timed")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--rounds", options->rounds, "Rounds, engines interleaved in each")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--engines", options->engines,
                    "Comma-separated, all by default: " + engine_list(crash_engines()))
        .delimiter(',')
        .check(check_engine<find_crash_engine>)
        .value_name("ENGINE");
    verb.add_option("--directory", options->directory,
                    "On storage: databases, and the checkpoints of chainbase")
        .shows_default()
        .existing_folder();
    verb.add_option("--memory", options->memory, "Where chainbase has its segment")
        .shows_default()
        .existing_folder();
    verb.add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    verb.runs([options] {
        run_crash(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
