#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/report_json.hpp>

#include <malloc.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

struct chain_options : bench_options {
    std::vector<std::filesystem::path> logs;
    std::vector<std::string> engines;
    std::uint64_t live_blocks = 100;
    std::uint64_t pending = 1000;
};

/// The results of one log with every engine.
struct log_result : chain_log {
    std::string state_digest;
    std::uint64_t pending = 0;
    std::uint64_t rejected = 0;
    std::vector<row> rows;
};
BOOST_DESCRIBE_STRUCT(log_result, (chain_log), (pending, rejected, state_digest, rows))

// --- one engine over one log ---

/// Runs the modes of one engine and compares its results with all others'.
class chain_rows {
public:
    chain_rows(const chain_options& options, const chain_log& log) : options_(options), log_(log) {}

    void run(const chain_engine_entry& entry) {
        measured_.select(entry.name);
        const double ns = measure_replay(entry);
        if (!entry.replays_in_sessions) measure_replay_in_steps(entry);
        measure_sync_and_live(entry, ns);
    }

    [[nodiscard]] log_result result() const {
        return {{log_},
                digest_.value_or(""),
                pending_.value_or(0),
                rejected_.value_or(0),
                measured_.rows()};
    }

private:
    /// Gives the engine its own folder; returns free memory to the system between two engines.
    template <typename Work>
    void with_engine(const chain_engine_entry& entry, Work&& work) {
        throw_if_interrupted();
        const scratch_directory scratch(options_.directory);
        {
            const auto engine = entry.make(log_.chain, scratch.path());
            work(*engine);
            engine->model().check();
            require_same(digest_, engine->model().state_digest(), entry, "state");
        }
        malloc_trim(0);
    }

    double per_operation(double ns, std::uint64_t operations) const {
        return ns / static_cast<double>(operations);
    }

    /// Returns ns per operation.
    double measure_replay(const chain_engine_entry& entry) {
        double result = 0;
        with_engine(entry, [&](chain_engine& engine) {
            const replay_times times = replay(engine, log_, entry.how_to_replay());
            result = per_operation(times.ns, log_.operations);
            measured_.add("replay", metric::ns, result);
            measured_.add(
                "replay_applying", metric::ns,
                per_operation(times.ns - times.waiting_ns - times.helping_ns, log_.operations));
            measured_.add("replay_helping", metric::ratio, times.helping_ns / times.ns);
            measured_.add("replay_waiting", metric::ratio, times.waiting_ns / times.ns);
            const auto bytes = static_cast<double>(engine.held_bytes());
            measured_.add("state_bytes", metric::bytes, bytes);
            measured_.add("state_bytes_per_object", metric::bytes,
                          bytes / static_cast<double>(engine.objects()));
        });
        return result;
    }

    /// For engines that replay without sessions: the cost of the sessions in which chainbase
    /// replays.
    void measure_replay_in_steps(const chain_engine_entry& entry) {
        with_engine(entry, [&](chain_engine& engine) {
            const replay_times times = replay(engine, log_, stepping::in_sessions);
            measured_.add("replay_in_sessions", metric::ns,
                          per_operation(times.ns, log_.operations));
        });
    }

    void measure_sync_and_live(const chain_engine_entry& entry, double replay_ns) {
        if (log_.sync_operations == 0 || log_.live_blocks == 0) return;
        with_engine(entry, [&](chain_engine& engine) {
            const double ns = per_operation(sync(engine, log_), log_.sync_operations);
            measured_.add("sync", metric::ns, ns);
            measured_.add("sync_to_replay", metric::ratio, ns / replay_ns);
            const live_times times = live(engine, log_, options_.pending);
            measured_.add("live_block", metric::ns, per_operation(times.ns, log_.live_blocks));
            if (times.pending != 0)
                measured_.add("live_pending", metric::ns,
                              per_operation(times.pending_ns, times.pending));
            require_same(pending_, times.pending, entry, "number of pending transactions");
            require_same(rejected_, times.rejected, entry, "number of rejected transactions");
        });
    }

    /// Other results must equal the first one: else the engines did different work.
    template <typename Value>
    void require_same(std::optional<Value>& known, const Value& found,
                      const chain_engine_entry& entry, const char* what) {
        if (!known) known = found;
        if (*known == found) return;
        std::ostringstream text;
        text << "bench: " << log_.path.string() << ": the " << what << " of " << entry.name
             << " is " << found << ", the one before it had " << *known
             << "; the engines do not do the same work: the figures are invalid";
        throw damaged_error(text.str());
    }

    const chain_options& options_;
    const chain_log& log_;
    measurements measured_;
    std::optional<std::string> digest_;
    std::optional<std::uint64_t> pending_;
    std::optional<std::uint64_t> rejected_;
};

// --- all of them ---

log_result run_log(const std::filesystem::path& path, const chain_options& options,
                   const bench_run& run) {
    const chain_log log = survey(path, options.live_blocks, options.pending);
    // Per byte of the compressed log: a new account's name takes some 8 bytes there, the account
    // 250 here.
    constexpr std::uintmax_t per_byte = 40;
    require_space(options.directory,
                  (std::uintmax_t{256} << 20) + std::filesystem::file_size(path) * per_byte,
                  "a shorter log");
    chain_rows rows(options, log);
    run.each_engine(
        chain_engines, options.engines, [&](const chain_engine_entry& entry) { rows.run(entry); },
        path.string() + ": round");
    return rows.result();
}

void print(std::ostream& out, const log_result& result) {
    out << "\n"
        << result.log() << ": " << result.chain << ", " << result.blocks << " blocks, "
        << result.transactions << " transactions, " << result.operations
        << " operations; live: the last " << result.live_blocks << " blocks but "
        << result.rest_blocks << ", " << result.pending << " transactions applied as pending, "
        << result.rejected
        << " of them rejected\nstate digest of every engine and mode: " << result.state_digest
        << "\n\n";
    print_rows(out, result.rows);
    out << "operations/s of replay:";
    for (const row& each : result.rows)
        if (each.operation == "replay")
            out << "  " << each.engine << " " << static_cast<std::uint64_t>(1e9 / each.value);
    out << "\n";
}

void run(const chain_options& options) {
    const bench_run run("chain", options);
    std::vector<log_result> logs;
    std::ostringstream text;
    text << run.title("",
                      "ns per operation (live_block: per block; live_pending: per transaction), "
                      "bytes and shares where the name says so; in brackets the ratio to "
                      "classical");
    for (const std::filesystem::path& path : options.logs)
        print(text, logs.emplace_back(run_log(path, options, run)));
    run.print(text.str(), {{"logs", json_of(logs)}});
}

} // namespace

void declare_chain(command& verb) {
    const auto options = std::make_shared<chain_options>();
    verb.add_option("--log", options->logs, "Block logs; each gets a table of its own")
        .required()
        .existing_file();
    declare_engines(verb, options->engines, chain_engines);
    verb.add_option("--live-blocks", options->live_blocks, "Blocks that are applied live")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--pending", options->pending, "Pending transactions before each live block")
        .shows_default()
        .whole_number(1, 1'000'000);
    declare_common(verb, *options, "Rounds, engines interleaved in each",
                   "Where the states are made");
    verb.runs([options] {
        run(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench
