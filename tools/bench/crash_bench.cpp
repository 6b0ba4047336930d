#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/report_json.hpp>

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
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chainbase::bench {

struct crash_options : bench_options {
    std::uint32_t objects = 5'000'000;
    std::uint32_t payments = 1000; ///< per block
    std::uint32_t blocks = 100;    ///< timed
    std::vector<std::string> engines;
    /// for files that need not survive a machine crash
    std::filesystem::path memory = default_directory();
};
BOOST_DESCRIBE_STRUCT(crash_options, (), (objects, payments, blocks))

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

namespace {

/// In the order of execution.
constexpr crash_engine_entry crash_engines[] = {
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

namespace fs = std::filesystem;

/// Bytes that this process passed to file writes.
double written_bytes() {
    std::ifstream in("/proc/self/io");
    double bytes = 0;
    for (std::string name; in >> name >> bytes;)
        if (name == "wchar:") return bytes;
    throw error("bench: /proc/self/io does not say what was written");
}

/// Sum of file lengths.
double bytes_in(const fs::path& folder) {
    double sum = 0;
    for (const auto& one : fs::recursive_directory_iterator(folder))
        if (one.is_regular_file()) sum += static_cast<double>(one.file_size());
    return sum;
}

/// One engine in one round: its files, and the figures that its processes leave in a file.
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
    /// Threads of the engine do not survive into the next process, so this one has none.
    void in_process(bool is_killed, const std::function<void()>& work) const {
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
                        " failed; its messages are above");
    }
    void add(std::string_view operation, metric unit, double sample) const {
        std::ofstream out(figures_, std::ios::app);
        out << operation << ' ' << static_cast<int>(unit) << ' ' << sample << '\n';
    }
    /// As users open it: including a read of the head.
    std::unique_ptr<crash_engine> open_timed(std::string_view operation) const {
        std::unique_ptr<crash_engine> engine;
        add(operation, metric::ns, nanoseconds([&] {
                engine = engine_.open(places_);
                (void)engine->last_block();
            }));
        return engine;
    }
    void require_block(crash_engine& engine, std::uint64_t number) const {
        const std::uint64_t found = engine.last_block();
        if (found != number)
            throw error(std::string(engine_.name) + " is at block " + std::to_string(found) +
                        ", not at " + std::to_string(number) + ": the figures are invalid");
        if (engine.money() != crash_plan::money_each * plan_.accounts())
            throw error(std::string(engine_.name) +
                        " has lost a part of a block: the figures are invalid");
    }

    void fill_and_die() const {
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
    void reopen_and_close() const {
        const auto engine = open_timed("reopen_after_kill");
        require_block(*engine, plan_.blocks());
        for (std::uint64_t i = 1; i <= 5; ++i)
            engine->apply(plan_.blocks() + i, plan_.block_of(plan_.blocks() + i));
        add("close_clean", metric::ns, nanoseconds([&] { engine->close(); }));
    }
    void open_clean() const {
        const auto engine = open_timed("open_clean");
        require_block(*engine, plan_.blocks() + 5);
        engine->close();
    }
    /// Copies back the files that the engine needs in memory.
    void restore() const {
        const double bytes = bytes_in(places_.memory);
        engine_.lose_memory(places_);
        const auto begin = std::chrono::steady_clock::now();
        const auto engine = engine_.open(places_);
        const std::chrono::duration<double, std::nano> taken =
            std::chrono::steady_clock::now() - begin;
        require_block(*engine, plan_.blocks() + 5);
        add("restore_per_gib", metric::ns, taken.count() / (bytes / (1 << 30)));
        engine->close();
    }

    const crash_engine_entry& engine_;
    const crash_plan& plan_;
    crash_places places_;
    fs::path figures_;
};

/// Fills, changes, kills and reopens the state of each engine in each round, in separate processes,
/// and prints the report. Throws error when an engine does not return to its last complete block
/// with all the money, and what the engines throw.
void run_crash(const crash_options& options) {
    if (options.payments > options.objects / 2)
        throw usage_error("bench: a block has each account at most once: --payments may be at "
                          "most half of --objects, " +
                          std::to_string(options.objects / 2));
    constexpr std::uintmax_t per_object = 800;
    const std::uintmax_t needed = (std::uintmax_t{512} << 20) + options.objects * per_object;
    require_space(options.directory, needed, "fewer objects");
    require_space(options.memory, needed / 4, "fewer objects, another --memory");
    const bench_run run("crash", options);
    const crash_plan plan(options.objects, options.payments, options.blocks);
    measurements measured;
    run.each_engine(crash_engines, options.engines, [&](const crash_engine_entry& entry) {
        const scratch_directory on_disk(options.directory);
        const scratch_directory in_memory(options.memory);
        crash_run one(entry, plan, {on_disk.path(), in_memory.path()}, on_disk.path() / "figures");
        one.run();
        measured.select(entry.name);
        one.collect(measured);
    });
    run.print(measured.rows(), json_of(options),
              std::to_string(options.objects) + " accounts, blocks of " +
                  std::to_string(options.payments) + " payments",
              "ns, bytes where the name says so");
}

} // namespace

void declare_crash(command& verb) {
    const auto options = std::make_shared<crash_options>();
    options->directory = std::filesystem::temp_directory_path();
    verb.add_option("--objects", options->objects, "How many accounts")
        .shows_default()
        .whole_number(1000, 500'000'000);
    verb.add_option("--payments", options->payments, "Payments in a block")
        .shows_default()
        .whole_number(2, 10'000'000);
    verb.add_option("--blocks", options->blocks, "Blocks that are timed")
        .shows_default()
        .whole_number(1, 1'000'000);
    declare_engines(verb, options->engines, crash_engines);
    verb.add_option("--memory", options->memory, "Where chainbase has its segment")
        .shows_default()
        .existing_folder();
    declare_common(verb, *options, "Rounds, engines interleaved in each",
                   "Folder on storage for the databases, and for the checkpoints of chainbase");
    verb.runs([options] {
        run_crash(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
