#include <pool_allocator/error.hpp>
#include <tools/bench/account_bench.hpp>
#include <tools/bench/account_engines.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/most_types.hpp>
#include <tools/bench/report.hpp>
#include <tools/bench/scratch_directory.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <sstream>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

/// The same objects and orders on every machine and run.
constexpr std::uint64_t seed = 0x636861696e;

struct account_options {
    std::uint32_t objects = 1'000'000;
    std::uint32_t types = 60;
    std::uint32_t rounds = 3;
    std::vector<std::string> engines;
    std::filesystem::path directory;
    bool small_pages = false;
    bool json = false;
};

std::vector<std::string> engines_to_run(const account_options& options) {
    if (!options.engines.empty()) return options.engines;
    std::vector<std::string> result;
    for (const account_engine_entry& entry : account_engines())
        result.emplace_back(entry.name);
    return result;
}

void check_space(const account_options& options) {
    constexpr std::uintmax_t per_object = 700;
    require_space(options.directory, (std::uintmax_t{64} << 20) + options.objects * per_object,
                  "fewer objects");
}

using measured_group = void (account_engine::*)(const account_plan&, const store_options&,
                                                measurements&);

/// Runs one group of rows in a folder of its own. Between two engines free memory goes back to the
/// system, so that none starts with the leavings of the one before.
void run_group(account_engine& engine, measured_group group, const account_plan& plan,
               const account_options& options, measurements& out) {
    throw_if_interrupted();
    const scratch_directory scratch(options.directory);
    const bool sessions = group == &account_engine::measure_sessions;
    (engine.*
     group)(plan,
            {scratch.path(), plan.objects() + plan.batch(), sessions ? options.types : 1, sessions},
            out);
    malloc_trim(0);
}

void run_engine(const std::string& name, const account_plan& plan, const account_options& options,
                measurements& out) {
    const auto engine = find_account_engine(name)->make();
    out.select(name);
    run_group(*engine, &account_engine::measure_plain, plan, options, out);
    run_group(*engine, &account_engine::measure_hashed, plan, options, out);
    run_group(*engine, &account_engine::measure_sessions, plan, options, out);
}

measurements run_rounds(const account_options& options) {
    const account_plan plan(options.objects, seed);
    const std::vector<std::string> engines = engines_to_run(options);
    measurements result;
    for (std::uint32_t round = 1; round <= options.rounds; ++round)
        for (const std::string& name : engines) {
            spdlog::info("round {} of {}: {}", round, options.rounds, name);
            run_engine(name, plan, options, result);
        }
    return result;
}

std::string table_of(const report& result) {
    std::ostringstream text;
    print_table(text, result);
    return text.str();
}

/// For the whole process, whatever an engine asks for.
void do_without_huge_pages() {
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
        throw error("bench: the system does not let a process do without huge pages; leave "
                    "--small-pages out");
}

void run(const account_options& options) {
    if (options.small_pages) do_without_huge_pages();
    check_space(options);
    warn_about_conditions();
    // The next place to stop may be far: a second signal ends the process.
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    report result{"account",       describe_machine(options.directory),
                  options.objects, options.types,
                  options.rounds,  {}};
    result.rows = run_rounds(options).rows();
    print_or_throw(options.json ? to_json(result).dump() + "\n" : table_of(result));
}

} // namespace

void add_account_bench(CLI::App& program) {
    const auto options = std::make_shared<account_options>();
    options->directory = default_directory();
    CLI::App* command = program.add_subcommand(
        "account", "One type of 72 bytes with three unique keys, in every engine");
    command->add_option("--objects", options->objects, "How many objects")
        ->capture_default_str()
        ->transform(whole_number(account_plan::least_objects, 500'000'000));
    command->add_option("--types", options->types, "Types registered while sessions are measured")
        ->capture_default_str()
        ->transform(whole_number(1, most_types));
    command
        ->add_option("--engines", options->engines,
                     "Comma-separated, all by default: " + engine_list(account_engines()))
        ->delimiter(',')
        ->check(CLI::Validator(check_engine<find_account_engine>, "ENGINE"));
    command->add_option("--rounds", options->rounds, "Rounds, engines interleaved in each")
        ->capture_default_str()
        ->transform(whole_number(1, 1000));
    command->add_option("--directory", options->directory, "Where the databases are made")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_flag("--small-pages", options->small_pages, "No huge pages, for any engine");
    command->add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    command->callback([options] { run(*options); });
}

} // namespace chainbase::bench
