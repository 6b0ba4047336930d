#include <pool_allocator/error.hpp>
#include <tools/bench/account_bench.hpp>
#include <tools/bench/account_engines.hpp>
#include <tools/bench/interruption.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/report.hpp>
#include <tools/bench/scratch_directory.hpp>

#include <malloc.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

/// The same objects and orders on every machine and run.
constexpr std::uint64_t seed = 0x636861696e;

/// Types are registered at compile time in some engines, so there is a limit.
constexpr std::uint32_t most_types = 128;

struct account_options {
    std::uint32_t objects = 1'000'000;
    std::uint32_t types = 60;
    std::uint32_t rounds = 3;
    std::vector<std::string> engines;
    std::filesystem::path directory;
    bool json = false;
};

std::filesystem::path default_directory() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

std::string check_engine(const std::string& name) {
    const account_engine_entry* entry = find_account_engine(name);
    if (entry == nullptr) return "no engine is called " + name;
    if (entry->make == nullptr) return "this build lacks the engine " + name;
    return "";
}

std::string engine_list() {
    std::string list;
    for (const account_engine_entry& entry : account_engines()) {
        list += list.empty() ? "" : ", ";
        list.append(entry.name).append(entry.make == nullptr ? " (not in this build)" : "");
    }
    return list;
}

std::vector<std::string> engines_to_run(const account_options& options) {
    if (!options.engines.empty()) return options.engines;
    std::vector<std::string> result;
    for (const account_engine_entry& entry : account_engines()) {
        if (entry.make != nullptr)
            result.emplace_back(entry.name);
        else
            spdlog::warn("{}: this build lacks it, left out", entry.name);
    }
    return result;
}

/// A sparse file that meets a full file system ends the process with SIGBUS; better to say so
/// first.
void check_space(const account_options& options) {
    constexpr std::uintmax_t per_object = 700;
    const std::uintmax_t needed = (std::uintmax_t{64} << 20) + options.objects * per_object;
    const std::uintmax_t there = std::filesystem::space(options.directory).available;
    if (there < needed)
        throw out_of_space_error("bench: " + options.directory.string() + " has " +
                                 std::to_string(there) + " bytes free and " +
                                 std::to_string(needed) +
                                 " are needed; take fewer objects or another --directory");
}

using measure = void (account_engine::*)(const account_plan&, const store_options&, measurements&);

/// Runs one group of rows in a folder of its own. Between two engines free memory goes back to the
/// system, so that none starts with the leavings of the one before.
void run_group(account_engine& engine, measure group, const account_plan& plan,
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

void print(const report& result, bool json) {
    if (json)
        std::cout << to_json(result).dump() << "\n";
    else
        print_table(std::cout, result);
    if (!std::cout.flush()) throw io_error("bench: the report could not be written to stdout");
}

void run(const account_options& options) {
    if (!is_optimised()) spdlog::warn("built without optimisation: the figures mean nothing");
    check_space(options);
    if (is_busy()) spdlog::warn("the machine is busy with other work: expect scattered figures");
    const catch_interruption interruption;
    report result{"account",       describe_machine(options.directory),
                  options.objects, options.types,
                  options.rounds,  {}};
    result.rows = run_rounds(options).rows();
    print(result, options.json);
}

} // namespace

void add_account_bench(CLI::App& program) {
    const auto options = std::make_shared<account_options>();
    options->directory = default_directory();
    CLI::App* command = program.add_subcommand(
        "account", "One type of 72 bytes with three unique keys, in every engine");
    command->add_option("--objects", options->objects, "How many objects")
        ->capture_default_str()
        ->check(CLI::Range(account_plan::least_objects, 500'000'000U));
    command->add_option("--types", options->types, "Types registered while sessions are measured")
        ->capture_default_str()
        ->check(CLI::Range(1U, most_types));
    command
        ->add_option("--engines", options->engines,
                     "Comma-separated, all by default: " + engine_list())
        ->delimiter(',')
        ->check(CLI::Validator(check_engine, "ENGINE"));
    command->add_option("--rounds", options->rounds, "Rounds, engines interleaved in each")
        ->capture_default_str()
        ->check(CLI::Range(1U, 1000U));
    command->add_option("--directory", options->directory, "Where the databases are made")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    command->add_flag("--json", options->json, "One JSON object on stdout instead of a table");
    command->callback([options] { run(*options); });
}

} // namespace chainbase::bench
