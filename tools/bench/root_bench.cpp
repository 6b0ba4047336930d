#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/root.hpp>

#include <memory>

namespace chainbase::bench {

void declare_root(command& verb) {
    const auto options = std::make_shared<root_options>();
    options->directory = default_directory();
    verb.add_option("--objects", options->objects, "How many the tree commits to")
        .shows_default()
        .whole_number(100'000, 100'000'000);
    verb.add_option("--operations", options->operations,
                    "Of the log that is replayed with a root and without; 0: no replay")
        .shows_default()
        .whole_number(0, 100'000'000);
    verb.add_option("--rounds", options->rounds, "Rounds, all settings in each")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--directory", options->directory, "Where the states are made")
        .shows_default()
        .existing_folder();
    verb.add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    verb.runs([options] {
        run_root(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
