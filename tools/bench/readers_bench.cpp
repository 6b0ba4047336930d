#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/readers.hpp>

#include <memory>

namespace chainbase::bench {

void declare_readers(command& verb) {
    const auto options = std::make_shared<readers_options>();
    options->directory = default_directory();
    options->inspect =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "chainbase-inspect";
    verb.add_option("--objects", options->objects, "How many accounts")
        .shows_default()
        .whole_number(1000, 100'000'000);
    verb.add_option("--readers", options->readers, "How many inspectors at once")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--milliseconds", options->milliseconds, "How long each setting runs")
        .shows_default()
        .whole_number(10, 1'000'000);
    verb.add_option("--rounds", options->rounds, "Rounds, all settings in each")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--inspect", options->inspect, "The inspector").shows_default();
    verb.add_option("--directory", options->directory, "Where the state is made")
        .shows_default()
        .existing_folder();
    verb.add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    verb.runs([options] {
        run_readers(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
