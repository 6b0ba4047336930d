#include <pool_allocator/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/bench/report.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chainbase::bench {

struct crash_options {
    std::uint32_t objects = 5'000'000;
    std::uint32_t payments = 1000; ///< of a block
    std::uint32_t blocks = 100;    ///< timed
    std::uint32_t rounds = 3;
    std::vector<std::string> engines; ///< empty: all
    std::filesystem::path directory;  ///< on storage
    std::filesystem::path memory;     ///< for what need not survive the machine
    bool json = false;
};

/// Fills, changes, kills and opens again the state of each engine in each round, in processes of
/// their own, and prints the report. Throws error when an engine does not come back to its last
/// complete block with all the money, and what the engines throw.
void run_crash(const crash_options& options);

crash_plan::block crash_plan::among(std::uint32_t accounts, std::uint64_t number) const {
    std::unordered_set<std::uint32_t> taken;
    std::uint64_t state = mix(number + 1);
    const auto another = [&] {
        for (;;) {
            state = mix(state);
            const auto one = static_cast<std::uint32_t>(state % accounts);
            if (taken.insert(one).second) return one;
        }
    };
    block all;
    all.reserve(payments_);
    for (std::uint32_t i = 0; i < payments_; ++i) {
        const std::uint32_t from = another();
        all.push_back({from, another()});
    }
    return all;
}

account_name crash_plan::name_of(std::uint64_t account) noexcept {
    static constexpr char letters[] = "abcdefghijklmnop";
    char text[account_name::capacity];
    std::uint64_t bits = mix(account); // which no two accounts have in common
    for (char& letter : text) {
        letter = letters[bits & 15];
        bits >>= 4;
    }
    return account_name::of_fitting({text, sizeof text});
}

namespace {

const crash_engine_entry every_crash_engine[] = {
    {"chainbase", open_chainbase, lose_chainbase_memory},
    {"chainbase_process", open_chainbase_process, nullptr},
    {"chainbase_commit", open_chainbase_commit, lose_chainbase_memory},
    {"chainbase_synced", open_chainbase_synced, lose_chainbase_memory},
    {"lmdb_sync", open_lmdb_sync, nullptr},
    {"lmdb_nosync", open_lmdb_nosync, nullptr},
    {"rocksdb_sync", open_rocksdb_sync, nullptr},
    {"rocksdb_nosync", open_rocksdb_nosync, nullptr},
    {"sqlite_full", open_sqlite_full, nullptr},
    {"sqlite_normal", open_sqlite_normal, nullptr},
};

} // namespace

std::span<const crash_engine_entry> crash_engines() noexcept {
    return every_crash_engine;
}

const crash_engine_entry* find_crash_engine(std::string_view name) noexcept {
    for (const crash_engine_entry& entry : every_crash_engine)
        if (entry.name == name) return &entry;
    return nullptr;
}

namespace {

namespace fs = std::filesystem;

/// One engine in one round: what it keeps, and the figures that its processes leave in a file.
class crash_run {
public:
    crash_run(const crash_engine_entry& engine, const crash_plan& plan, crash_places places,
              fs::path figures)
        : engine_(engine), plan_(plan), places_(std::move(places)), figures_(std::move(figures)) {}

    void run() {
        in_process(true, [this] { fill_and_die(); });
        in_process(false, [this] { reopen_and_close(); });
        in_process(false, [this] { open_clean(); });
        if (engine_.lose_memory) in_process(false, [this] { restore(); });
    }
    void collect(measurements& into) const {
        std::ifstream in(figures_);
        std::string operation;
        int unit = 0;
        for (double sample = 0; in >> operation >> unit >> sample;)
            into.add(operation, static_cast<metric>(unit), sample);
    }

private:
    void in_process(bool is_killed, const std::function<void()>& work) const;
    void add(std::string_view operation, metric unit, double sample) const {
        std::ofstream out(figures_, std::ios::app);
        out << operation << ' ' << static_cast<int>(unit) << ' ' << sample << '\n';
    }
    /// As its users open it: with a look at the head.
    std::unique_ptr<crash_engine> open_timed(std::string_view operation) const;
    void require_block(crash_engine& engine, std::uint64_t number) const;

    void fill_and_die() const;
    void reopen_and_close() const;
    void open_clean() const;
    void restore() const;

    const crash_engine_entry& engine_;
    const crash_plan& plan_;
    crash_places places_;
    fs::path figures_;
};

/// Bytes that this process passed to calls that write files.
double written_bytes() {
    std::ifstream in("/proc/self/io");
    double bytes = 0;
    for (std::string name; in >> name >> bytes;)
        if (name == "wchar:") return bytes;
    throw error("bench: /proc/self/io does not say what was written");
}

/// Of files, as long as they are.
double bytes_in(const fs::path& folder) {
    double sum = 0;
    for (const auto& one : fs::recursive_directory_iterator(folder))
        if (one.is_regular_file()) sum += static_cast<double>(one.file_size());
    return sum;
}

/// Threads of the engine do not live on in the next process, so this one has none.
void crash_run::in_process(bool is_killed, const std::function<void()>& work) const {
    throw_if_interrupted();
    const pid_t child = ::fork();
    if (child < 0) throw error("bench: cannot start a process");
    if (child == 0) {
        try {
            work();
            ::_exit(0);
        } catch (const std::exception& problem) {
            spdlog::error("{}: {}", engine_.name, problem.what());
            ::_exit(1);
        }
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (is_killed ? !was_killed : status != 0)
        throw error("bench: a process of " + std::string(engine_.name) +
                    " failed; what it said is above");
}

void crash_run::require_block(crash_engine& engine, std::uint64_t number) const {
    const std::uint64_t found = engine.last_block();
    if (found != number)
        throw error(std::string(engine_.name) + " is at block " + std::to_string(found) +
                    ", not at " + std::to_string(number) + ": no figure counts");
    if (engine.money() != crash_plan::money_each * plan_.accounts())
        throw error(std::string(engine_.name) + " has lost a part of a block: no figure counts");
}

void crash_run::fill_and_die() const {
    const auto engine = engine_.open(places_);
    engine->fill(plan_);
    engine->measure_own(plan_, [this](auto... figure) { add(figure...); });
    std::vector<crash_plan::block> blocks;
    for (std::uint64_t number = 1; number <= plan_.blocks(); ++number)
        blocks.push_back(plan_.block_of(number));
    const double before = written_bytes();
    double taken = 0;
    for (std::uint64_t number = 1; number <= blocks.size(); ++number) {
        taken += nanoseconds([&] { engine->apply(number, blocks[number - 1]); });
        engine->settle();
    }
    add("block", metric::ns, taken / plan_.blocks());
    const double written = written_bytes() - before;
    if (written > 0) add("written_bytes_per_block", metric::bytes, written / plan_.blocks());
    engine->apply_half(plan_.blocks() + 1, blocks.front(), [] { ::raise(SIGKILL); });
}

std::unique_ptr<crash_engine> crash_run::open_timed(std::string_view operation) const {
    std::unique_ptr<crash_engine> engine;
    add(operation, metric::ns, nanoseconds([&] {
            engine = engine_.open(places_);
            (void)engine->last_block();
        }));
    return engine;
}

void crash_run::reopen_and_close() const {
    const auto engine = open_timed("reopen_after_kill");
    require_block(*engine, plan_.blocks());
    for (std::uint64_t i = 1; i <= 5; ++i)
        engine->apply(plan_.blocks() + i, plan_.block_of(plan_.blocks() + i));
    add("close_clean", metric::ns, nanoseconds([&] { engine->close(); }));
}

void crash_run::open_clean() const {
    const auto engine = open_timed("open_clean");
    require_block(*engine, plan_.blocks() + 5);
    engine->close();
}

/// Of what the engine needs to have in memory again.
void crash_run::restore() const {
    const double bytes = bytes_in(places_.memory);
    engine_.lose_memory(places_);
    const auto begin = std::chrono::steady_clock::now();
    const auto engine = engine_.open(places_);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    require_block(*engine, plan_.blocks() + 5);
    add("restore_per_gib", metric::ns, taken.count() / (bytes / (1 << 30)));
    engine->close();
}

std::vector<std::string> engines_to_run(const crash_options& options) {
    if (!options.engines.empty()) return options.engines;
    std::vector<std::string> all;
    for (const crash_engine_entry& entry : crash_engines())
        all.emplace_back(entry.name);
    return all;
}

std::vector<row> run_rounds(const crash_options& options) {
    const crash_plan plan(options.objects, options.payments, options.blocks);
    measurements result;
    for (std::uint32_t round = 1; round <= options.rounds; ++round)
        for (const std::string& name : engines_to_run(options)) {
            spdlog::info("round {} of {}: {}", round, options.rounds, name);
            const scratch_directory on_disk(options.directory);
            const scratch_directory in_memory(options.memory);
            crash_run one(*find_crash_engine(name), plan, {on_disk.path(), in_memory.path()},
                          on_disk.path() / "figures");
            one.run();
            result.select(name);
            one.collect(result);
        }
    return result.rows();
}

std::string to_text(const std::vector<row>& rows, const nlohmann::json& machine,
                    const crash_options& options) {
    std::ostringstream text;
    text << "crash: " << options.objects << " accounts, blocks of " << options.payments
         << " payments, medians of " << options.rounds << " rounds; " << in_words(machine)
         << "\nns, bytes where the name says so\n\n";
    print_rows(text, rows);
    return text.str();
}

std::string to_json(const std::vector<row>& rows, const nlohmann::json& machine,
                    const crash_options& options) {
    nlohmann::ordered_json all;
    all["bench"] = "crash";
    all["machine"] = machine;
    all["rounds"] = options.rounds;
    all["objects"] = options.objects;
    all["payments"] = options.payments;
    all["blocks"] = options.blocks;
    all["rows"] = rows_to_json(rows);
    return all.dump().append("\n");
}

} // namespace

void run_crash(const crash_options& options) {
    if (options.payments > options.objects / 2)
        throw usage_error("bench: a block has each account once at most: --payments may be half of "
                          "--objects, " +
                          std::to_string(options.objects / 2));
    constexpr std::uintmax_t per_object = 800;
    const std::uintmax_t needed = (std::uintmax_t{512} << 20) + options.objects * per_object;
    require_space(options.directory, needed, "fewer objects");
    require_space(options.memory, needed / 4, "fewer objects, another --memory");
    warn_about_conditions();
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    const nlohmann::json machine = describe_machine(options.directory);
    const std::vector<row> rows = run_rounds(options);
    print_or_throw(options.json ? to_json(rows, machine, options)
                                : to_text(rows, machine, options));
}

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
