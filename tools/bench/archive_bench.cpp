#include <tools/bench/archive.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>

#include <memory>

namespace chainbase::bench {

void declare_archive(command& verb) {
    const auto options = std::make_shared<archive_options>();
    options->directory = std::filesystem::temp_directory_path();
    options->memory = default_directory();
    verb.add_option("--rows", options->rows, "Comments; of a long log, most get paid")
        .shows_default()
        .whole_number(10'000, 200'000'000);
    verb.add_option("--mix", options->mix, "Operations of the log, as `generate` takes them")
        .shows_default();
    verb.add_option("--finds", options->finds, "Lookups of each kind, timed one by one")
        .shows_default()
        .whole_number(100, 100'000'000);
    verb.add_option("--cache-mib", options->cache_mib, "The archive's cache while it is warm")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--rounds", options->rounds, "Rounds, both chains in each")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--directory", options->directory, "On storage: the log and the archive")
        .shows_default()
        .existing_folder();
    verb.add_option("--memory", options->memory, "Where the segments are")
        .shows_default()
        .existing_folder();
    verb.add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    verb.runs([options] {
        run_archive(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
