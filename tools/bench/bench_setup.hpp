#pragma once

#include <chainbase/segment/segment.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/command_line.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

/// The common frame of all benches.
namespace chainbase::bench {

/// Options for a temporary state: it survives a kill, and nothing is synced.
[[nodiscard]] inline open_options options_for_bench() {
    open_options options;
    options.sync = false;
    options.durability = durability::process;
    options.advise = false;
    return options;
}

/// Some engines register types at compile time, so there is a limit.
inline constexpr std::uint32_t max_types = 128;

/// A new folder, removed with its content by the destructor.
class scratch_directory {
public:
    /// Throws: chainbase::io_error when no folder can be made in `parent`.
    explicit scratch_directory(const std::filesystem::path& parent);
    ~scratch_directory();
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// /dev/shm if it exists, else the folder for temporary files.
[[nodiscard]] std::filesystem::path default_directory();

/// Throws out_of_space_error unless the file system of `directory` has `needed` free bytes: a
/// sparse file on a full one ends the process with SIGBUS. `smaller` is the advice for less work:
/// "fewer objects".
void require_space(const std::filesystem::path& directory, std::uintmax_t needed,
                   std::string_view smaller);

/// Throws error after a signal, so that an interrupted run removes its files, which may take most
/// of the memory.
void throw_if_interrupted();

/// The common options of benches. A bench's own options derive from it and describe (with
/// Boost.Describe) those that the report includes.
struct bench_options {
    std::uint32_t rounds = 3;
    std::filesystem::path directory = default_directory();
    bool json = false;
};

/// Declares --rounds, --directory and --json. Returns the last.
command_option& declare_common(command& verb, bench_options& options, std::string rounds,
                               std::string directory);

/// The entry with that name in a table of engines, or null.
template <typename Engines>
[[nodiscard]] auto find_engine(const Engines& all, std::string_view name) noexcept {
    for (const auto& entry : all)
        if (entry.name == name) return &entry;
    return decltype(&*std::begin(all))(nullptr);
}

/// Declares --engines: names in `all`, a table that outlives the command.
template <typename Engines>
void declare_engines(command& verb, std::vector<std::string>& names, const Engines& all,
                     const std::string& by_default = "all") {
    std::string list;
    for (const auto& entry : all)
        list.append(list.empty() ? "" : ", ").append(entry.name);
    verb.add_option("--engines", names, "Comma-separated, " + by_default + " by default: " + list)
        .delimiter(',')
        .check([&all](const std::string& name) -> std::string {
            return find_engine(all, name) == nullptr ? "no engine is called " + name : "";
        })
        .value_name("ENGINE");
}

/// What a reader needs to judge a figure. Unknown properties are empty strings.
struct machine_description {
    std::string cpu;
    long cores = 0;
    std::uint64_t memory = 0; ///< bytes
    std::string kernel;
    std::string compiler;
    bool optimised = false; ///< figures of other builds are worthless
    std::string huge_pages; ///< the system's settings
    std::string huge_pages_shmem;
    std::string file_system; ///< file system of the bench's folder
    double load = 0;         ///< when the bench started
};
BOOST_DESCRIBE_STRUCT(machine_description, (),
                      (cpu, cores, memory, kernel, compiler, optimised, huge_pages,
                       huge_pages_shmem, file_system, load))

/// One run of a bench, from the preparations to its report. Warns when the figures will be
/// unreliable: a build without optimisation, a machine with other work. A signal is recorded; a
/// second one ends the process, since the next safe point may be far.
class bench_run {
public:
    /// `options` must outlive it.
    bench_run(std::string bench, const bench_options& options);

    [[nodiscard]] const catch_interruption& signals() const noexcept { return signals_; }

    /// Calls work() in each round; `what` names it on stderr.
    template <typename Work>
    void each_round(Work&& work, std::string_view what = "round") const {
        for (std::uint32_t round = 1; round <= options_.rounds; ++round) {
            announce(what, round, "");
            work();
        }
    }
    /// Calls work(entry) for each engine in each round, A B A B. Without names: for all engines.
    template <typename Engines, typename Work>
    void each_engine(const Engines& all, std::vector<std::string> names, Work&& work,
                     std::string_view what = "round") const {
        if (names.empty())
            for (const auto& entry : all)
                names.emplace_back(entry.name);
        for (std::uint32_t round = 1; round <= options_.rounds; ++round)
            for (const std::string& name : names) {
                announce(what, round, name);
                work(*find_engine(all, name));
            }
    }

    /// "crash: 4000 accounts, medians of 3 rounds; 2.1 GHz, g++ 12, tmpfs" and, below it, the units
    /// of what follows.
    [[nodiscard]] std::string title(const std::string& what, std::string_view units) const;

    /// Prints the report: this text, or an object with "bench", "machine", "rounds" and the members
    /// of `own`.
    void print(const std::string& text, const nlohmann::ordered_json& own) const;
    /// The same with these rows: a table below the title and "rows". A row has "engine",
    /// "operation", "metric", "value" (the median) and "samples" (one per round).
    void print(const std::vector<row>& rows, nlohmann::ordered_json own, const std::string& what,
               std::string_view units, std::string_view below = "") const;

private:
    void announce(std::string_view what, std::uint32_t round, std::string_view engine) const;

    std::string bench_;
    const bench_options& options_;
    catch_interruption signals_{catch_interruption::further_signals::end_the_process};
    machine_description machine_;
};

} // namespace chainbase::bench
