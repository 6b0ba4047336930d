#include <pool_allocator/base/error.hpp>
#include <tools/driver/live/live.hpp>
#include <tools/driver/live/load.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/driver/standby/beginning.hpp>
#include <tools/driver/standby/standby.hpp>
#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/serve.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/endpoint_name.hpp>
#include <tools/interruption.hpp>
#include <tools/memory_folder.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// The verbs that apply, follow and serve the blocks of a chain: replay, sync, live, load, serve.
namespace chainbase::driver {

namespace {

// --- options that several verbs have; what they are bound to lives as long as the verb ---

std::set<std::string> types_in(const std::vector<std::string>& names) {
    std::set<std::string> types(names.begin(), names.end());
    if (types.contains("")) throw usage_error("--state-root: a name is missing: TYPE,...");
    if (types.size() > 1 && (types.contains("all") || types.contains("none")))
        throw usage_error("--state-root: \"all\" and \"none\" cannot be combined with other names");
    return types;
}

void add_root_options(command& verb, root_options& to) {
    verb.add_option_function<std::vector<std::string>>(
            "--state-root",
            [&to](const std::vector<std::string>& names) { to.types = types_in(names); },
            "keep a root, 32 bytes that commit to all objects of these TYPEs (all: of every type "
            "of the chain), brought up to date with each block; none: no root; default: as the "
            "state was before, none in a new state")
        .delimiter(',')
        .value_name("TYPE,...");
    verb.add_option("--keep-roots", to.kept,
                    "keep the roots of this many blocks for `bisect`; default: as before, or "
                    "100000")
        .whole_number(1, 1'000'000'000);
    verb.add_option("--root-threads", to.threads,
                    "threads that make the root, in addition to the one that applies blocks; 0: "
                    "that one does; default: all other threads of the machine")
        .whole_number(0, 64);
}

void add_state_options(command& verb, state_options& to) {
    static const std::map<std::string, durability> levels{{"process", durability::process},
                                                          {"checkpoint", durability::checkpoint},
                                                          {"commit", durability::commit}};
    verb.add_option_function<std::string>(
            "--durability", [&to](const std::string& name) { to.level = levels.at(name); },
            "what the state survives: process: a kill of the process; checkpoint: also a crash "
            "of the machine, back to the last checkpoint; commit: also a crash of the machine, "
            "back to the last synced block, milliseconds ago")
        .one_of({"process", "checkpoint", "commit"})
        .default_text("checkpoint");
    const auto set = [&to](const double& seconds) {
        to.checkpoint_interval = std::chrono::milliseconds(std::llround(seconds * 1000));
    };
    verb.add_option_function<double>("--checkpoint-interval", set,
                                     "seconds between checkpoints, which are also made when the "
                                     "state is closed; 0: only then")
        .real_number(0.0, 86'400.0)
        .default_text("30");
    add_memory_folder(verb, to.memory_folder);
    verb.add_option_function<std::string>(
            "--expected-size",
            [&to](const std::string& size) { to.expected_bytes = byte_size_of(size); },
            "the size that a new state will have, such as 20GiB: it is made in memory only if "
            "there is room for that and a quarter more")
        .value_name("BYTES");
    verb.add_option_function<std::string>(
            "--feed-size", [&to](const std::string& size) { to.feed_bytes = byte_size_of(size); },
            "space for what followers of the state (`chainbase-inspect feed`) have not read yet, "
            "of which the oldest is removed; 0: no feed")
        .value_name("BYTES")
        .default_text("1GiB");
    verb.add_option_function<std::string>(
            "--archive",
            [&to](const std::string& name) { to.archive = archive::store_kind_of(name); },
            "where a new state keeps finished objects: rocksdb: as rows on disk; memory: as rows "
            "in the segment; none: as live objects in the segment; an existing state keeps its "
            "kind")
        .one_of({"rocksdb", "memory", "none"})
        .default_text("rocksdb");
    verb.add_option("--group", to.group,
                    "a group, by name or number, whose members may read a new state and its "
                    "archive; without it only the owner may");
    verb.add_flag("--migrate", to.migrates.emplace(false),
                  "take over a state that another version of this program wrote, with other keys "
                  "or fields of a type; its blocks can no longer be undone then");
    add_root_options(verb, to.root);
}

void add_following_options(command& verb, following_options& to) {
    const auto add_peers = [&to](const std::vector<std::string>& names) {
        for (const std::string& one : names)
            to.peers.push_back(parse_endpoint(one));
    };
    command_option& peers = verb.add_option_function<std::vector<std::string>>(
                                    "--peer", add_peers,
                                    "HOST:PORT of a peer; with several, the next one is used "
                                    "when one fails")
                                .value_name("HOST:PORT");
    command_option& log = verb.add_option("--block-log", to.block_log,
                                          "a block log in place of a peer, as if a peer had sent "
                                          "its blocks")
                              .value_name("FILE")
                              .excludes(peers);
    verb.add_option("--state", to.state, "folder of the state; made if there is none")
        .value_name("FOLDER")
        .required();
    add_state_options(verb, to.state_settings);
    verb.add_option("--chain", to.chain,
                    "the chain of a new state; default: that of the first peer that answers")
        .excludes(log);
    verb.add_option(
            "--lag", to.lag,
            "blocks that can be popped: the deepest fork that is followed, if its blocks take at "
            "most 256 MiB decoded")
        .whole_number(0, wire::max_known_blocks - 1)
        .shows_default();
    verb.add_option("--stop-at", to.stop_at, "end when the head is a block of this number")
        .whole_number(0, UINT64_MAX);
    verb.add_option("--attempts", to.network.attempts,
                    "failures in a row after which a peer is given up; default: 10 with --once, "
                    "else never")
        .whole_number(1, UINT32_MAX);
    verb.add_option("--threads", to.threads, "threads that decode the blocks of --block-log")
        .needs(log)
        .whole_number(1, 64);
    verb.add_flag("--once", to.once,
                  "end at the end of the peer's chain or of the log; else wait for more blocks");
}

void add_snapshot_options(command& verb, std::optional<snapshot_options>& to) {
    command_option& folder =
        verb.add_option_function<std::string>(
                "--from-snapshot",
                [&to](const std::string& name) {
                    if (!to) to.emplace();
                    to->folder = name;
                },
                "make a new state of a snapshot that peers offer; it is collected in FOLDER, where "
                "a killed call goes on")
            .value_name("FOLDER");
    verb.add_option_function<std::string>(
            "--trusted-root",
            [&to](const std::string& word) {
                if (!to) to.emplace();
                to->trusted.root = snapshot_file::digest_of(word);
            },
            "the state root that the snapshot must have, as a block header says it")
        .needs(folder)
        .value_name("HEX");
    verb.add_option_function<std::string>(
            "--trusted-name",
            [&to](const std::string& word) {
                if (!to) to.emplace();
                to->trusted.name = snapshot_file::digest_of(word);
            },
            "the name that the snapshot must have: SHA-256 of its manifest")
        .needs(folder)
        .value_name("HEX");
}

void add_reading_options(command& verb, live::readers::options& to) {
    verb.add_option("--readers", to.threads, "threads that read the state as an API does")
        .whole_number(0, 64)
        .shows_default();
    verb.add_option("--questions", to.questions_per_second,
                    "questions a second of each reader; 0: without a pause")
        .whole_number(0, 10'000'000)
        .shows_default();
}

void add_batch_option(command& verb, live::batching& to) {
    verb.add_option("--batch", to.transactions,
                    "transactions applied each time the write lock is taken; 0: all that wait, "
                    "for at most 5 ms")
        .whole_number(0, 1'000'000)
        .shows_default();
}

void add_milliseconds(command& verb, const std::string& name, std::chrono::nanoseconds& to,
                      unsigned least, const std::string& description) {
    const auto set = [&to](const std::uint64_t& value) { to = std::chrono::milliseconds(value); };
    verb.add_option_function<std::uint64_t>(name, set, description)
        .whole_number(least, 3'600'000)
        .default_text(
            std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(to).count()));
}

} // namespace

namespace {

/// Maps a report to the exit code. Logs last that the log is cut, too: the report has a digest all
/// the same.
template <typename Report>
exit_code ended(const Report& report) {
    if (report.interrupted) return exit_code::interrupted;
    if (!report.log_cut) return exit_code::done;
    spdlog::error("{}", *report.log_cut);
    return exit_code::damaged;
}

} // namespace

void declare_replay(command& verb) {
    struct call : replay_options {
        bool json = false;
        observation_options watch;
        std::filesystem::path expected_from;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--block-log", options->block_log,
                    "the block log; its chain determines the rules")
        .value_name("FILE")
        .required();
    verb.add_option("--state", options->state, "folder of the state; made if there is none")
        .value_name("FOLDER")
        .required();
    add_state_options(verb, options->state_settings);
    verb.add_option("--from", options->from,
                    "number of the first block to apply; refused unless it is the next")
        .whole_number(1, UINT64_MAX);
    verb.add_option("--stop-at", options->stop_at, "number of the last block to apply")
        .whole_number(0, UINT64_MAX);
    verb.add_option("--threads", options->threads,
                    "threads that read and decode blocks; default: all threads of the machine "
                    "but the one that applies")
        .whole_number(1, 64);
    verb.add_flag("--validate", options->validate,
                  "check the chain's sums after every step, not only at the end");
    verb.add_flag("--verify", options->verify, "look up every object by id and by key");
    verb.add_option_function<std::string>(
            "--verify-roots",
            [options](const std::string& from) {
                if (from.empty())
                    options->verify_root = true;
                else
                    options->expected_from = from;
            },
            "stop after the first block whose root differs from that in FROM, another state or "
            "the output of `roots`; without FROM: compute the root again from all objects at the "
            "end")
        .optional_value()
        .value_name("[FROM]");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        if (!options->expected_from.empty())
            options->expected = known_roots::read(options->expected_from);
        const replay_report report = replay(*options, signals);
        print_report(report, options->json);
        return report.state_root && report.state_root->differs ? exit_code::different
                                                               : ended(report);
    });
}

namespace {

void print(const serve_report& report, bool as_json, bool is_end) {
    const block_server::counters& all = report.served;
    if (as_json) {
        json object{{"chain", report.chain},
                    {"listening", report.address},
                    {"head", report.head.number},
                    {"id", to_string(report.head.id)},
                    {"snapshot", text_or_null(report.snapshot)},
                    {"feed", text_or_null(report.feed)}};
        if (is_end) object.update(json_of(all));
        return print_or_throw(line_of(object) + "\n");
    }
    print_or_throw(
        is_end ? fmt::format("served {} blocks, {} files of a snapshot, {} bytes: {} "
                             "connections, {} of them to the end, {} refused\n",
                             all.blocks, all.snapshot_files, all.bytes, all.connections,
                             all.finished, all.refused)
               : fmt::format("{}, block {}: listening at {}\n{}", report.chain, report.head.number,
                             report.address,
                             report.snapshot.empty() ? "" : "snapshot " + report.snapshot + "\n"));
}

} // namespace

void declare_serve(command& verb) {
    struct call : serve_options {
        std::string listen = "127.0.0.1:0";
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    command_option& log =
        verb.add_option("--block-log", options->block_log, "the log").value_name("FILE");
    verb.add_option("--forks", options->forks,
                    "a file of branches that lose against the log, as made by generate")
        .needs(log)
        .value_name("FILE");
    command_option& snapshot =
        verb.add_option("--snapshot", options->snapshot,
                        "a snapshot of the chain's state, offered to new nodes; with --feed it is "
                        "written if it is not there")
            .value_name("FOLDER");
    verb.add_option("--snapshot-base", options->snapshot_bases,
                    "where chunks are that the snapshot shares, if it was written with --base")
        .needs(snapshot)
        .one_value_each_time()
        .value_name("FOLDER");
    command_option& feed =
        verb.add_option("--feed", options->feed,
                        "a state that a node of this machine writes, to be copied by standbys on "
                        "others")
            .value_name("STATE");
    verb.add_flag("--take-over", options->may_take_over,
                  "let a standby take the state's place when its writer is gone")
        .needs(feed);
    verb.add_option("--listen", options->listen,
                    "HOST:PORT, or :PORT for the loopback; port 0: any, printed on stdout")
        .value_name("HOST:PORT")
        .shows_default();
    command_option& rate = verb.add_option("--blocks-per-second", options->blocks_per_second,
                                           "let blocks appear at this rate, as on a live chain")
                               .needs(log)
                               .real_number(0.001, 1e9);
    verb.add_option("--from-head", options->from_head,
                    "number of the last block that is there from the start")
        .needs(rate)
        .whole_number(1, UINT64_MAX);
    verb.add_option("--connections", options->network.connections, "connections at once, at most")
        .whole_number(1, 10'000)
        .shows_default();
    verb.add_option("--connections-per-address", options->network.connections_per_address,
                    "connections at once from one address, at most")
        .whole_number(1, 10'000)
        .shows_default();
    verb.add_flag("--once", options->once, "end when a client has received everything and hung up");
    verb.add_flag("--json", options->json,
                  "two JSON objects on stdout, a line each: first where "
                  "it listens, at the end what was served");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        options->network.listen = parse_endpoint(options->listen);
        if (options->feed && options->snapshot) offer_snapshot(*options->feed, *options->snapshot);
        const serve_report report = serve(*options, signals, [&](const serve_report& begun) {
            print(begun, options->json, false);
        });
        print(report, options->json, true);
        return exit_code::done; // a signal is the normal end
    });
}

void declare_sync(command& verb) {
    struct call : sync_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    add_following_options(verb, *options);
    add_snapshot_options(verb, options->from_snapshot);
    verb.add_flag("--verify", options->verify, "look up every object by id and by key");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const sync_report report = sync(*options, signals);
        print_report(report, options->json);
        return ended(report.state);
    });
}

void declare_standby(command& verb) {
    using when = standby_options::when;
    struct call : standby_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    command_option& of =
        verb.add_option("--of", options->of, "folder of the state to follow").value_name("FOLDER");
    verb.add_option_function<std::string>(
            "--from", [options](const std::string& name) { options->from = parse_endpoint(name); },
            "HOST:PORT of a `serve --feed` that offers the state to follow")
        .value_name("HOST:PORT")
        .excludes(of);
    static const std::map<std::string, when> times{
        {"killed", when::killed}, {"ended", when::ended}, {"never", when::never}};
    verb.add_option_function<std::string>(
            "--take-over",
            [options](const std::string& word) { options->takes_over = times.at(word); },
            "take the followed state's place when its writer was killed; ended: also when it "
            "closed the state; never: only follow")
        .one_of({"killed", "ended", "never"})
        .default_text("killed");
    verb.add_option_function<double>(
            "--take-over-after",
            [options](const double& seconds) {
                options->after = std::chrono::milliseconds(std::llround(seconds * 1000));
            },
            "seconds for which the writer has to be gone first: longer than what restarts it takes")
        .real_number(0.0, 86'400.0)
        .default_text("0");
    add_following_options(verb, *options);
    add_snapshot_options(verb, options->from_snapshot);
    verb.add_flag("--json", options->json, "one JSON object on stdout for each event");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        std::signal(SIGPIPE, SIG_IGN); // who reads the events may be gone when it takes over
        const auto tell = [&](const char* event, const standby_figures& now) {
            if (!options->json)
                return print_or_throw(
                    fmt::format("{}: {}, block {}\n", now.state, event, now.block));
            json object{{"event", event}};
            object.update(json_of(now));
            print_or_throw(line_of(object) + "\n");
        };
        const standby_report report = stand_by(*options, signals, tell);
        if (!report.after) {
            tell("ended", report.standby);
            return exit_code::done;
        }
        print_report(*report.after, options->json);
        return ended(report.after->state);
    });
}

void declare_live(command& verb) {
    struct call : live::live_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    add_following_options(verb, *options);
    add_reading_options(verb, options->reading);
    add_batch_option(verb, options->batch);
    verb.add_option("--pending", options->pending,
                    "how many transactions of coming blocks arrive before their block")
        .whole_number(0, 10'000'000)
        .shows_default();
    verb.add_option("--shuffle", options->shuffle, "seed of a random order in which they arrive")
        .whole_number(0, UINT64_MAX);
    add_milliseconds(verb, "--interval-ms", options->interval, 0,
                     "time between blocks; 0: as fast as they come");
    add_milliseconds(verb, "--budget-ms", options->budget, 0,
                     "time after a block to apply pending transactions again");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const live::live_report report = live::live(*options, signals);
        print_report(report, options->json);
        return ended(report);
    });
}

namespace {

struct load_call : live::load_options {
    std::uint64_t start_rate = 100'000;
    std::uint64_t step = 0;
    std::uint64_t last_rate = 100'000'000;
    bool json = false;
    observation_options watch;
};

void add_chain_options(command& verb, load_call& to) {
    verb.add_option("--workload", to.workload, "payments or social")
        .one_of({"payments", "social"})
        .shows_default();
    verb.add_option("--accounts", to.accounts, "accounts of the chain")
        .whole_number(2, 50'000'000)
        .shows_default();
    verb.add_option("--seed", to.seed, "the same seed gives the same random choices")
        .whole_number(0, UINT64_MAX)
        .shows_default();
    verb.add_option("--state", to.state,
                    "a new folder for the state; default: one in memory that is removed at the end")
        .value_name("FOLDER");
    verb.add_option("--lag", to.lag, "blocks that can be popped")
        .whole_number(0, 100'000)
        .shows_default();
    add_milliseconds(verb, "--interval-ms", to.interval, 1, "between blocks");
    add_milliseconds(verb, "--pending-budget-ms", to.pending_budget, 0,
                     "time of each interval for pending transactions; 0: all of it");
    add_batch_option(verb, to.batch);
    add_reading_options(verb, to.reading);
}

void add_rate_options(command& verb, load_call& to) {
    verb.add_option("--start-rate", to.start_rate, "transactions a second to begin with")
        .whole_number(1, 100'000'000)
        .shows_default();
    command_option& step =
        verb.add_option("--step", to.step, "transactions a second that each step adds (50000)")
            .whole_number(1, 100'000'000);
    verb.add_option("--factor", to.steps.factor,
                    "factor from each step to the next, in place of --step")
        .real_number(1.001, 1000.)
        .excludes(step);
    verb.add_option("--last-rate", to.last_rate, "the highest rate to try")
        .whole_number(1, 100'000'000);
    verb.add_option("--seconds", to.seconds, "how long each rate is kept up")
        .whole_number(1, 86'400)
        .shows_default();
}

void complete(load_call& options) {
    options.steps.start = static_cast<double>(options.start_rate);
    options.steps.last = static_cast<double>(options.last_rate);
    options.steps.more = static_cast<double>(options.step);
    if (options.step == 0 && options.steps.factor == 1) options.steps.more = 50'000;
}

} // namespace

void declare_load(command& verb) {
    const auto options = std::make_shared<load_call>();
    add_chain_options(verb, *options);
    add_rate_options(verb, *options);
    verb.add_option("--to", options->to, "folder for load.csv, load.json and load.svg")
        .value_name("FOLDER");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        complete(*options);
        const catch_interruption signals;
        const observation watched(options->watch);
        std::optional<live::load_files> files;
        if (!options->to.empty()) files.emplace(options->to);
        const live::load_report report = live::load(*options, signals);
        if (const auto missing = files ? files->write(report) : std::nullopt)
            spdlog::warn("{}", *missing);
        print_report(report, options->json);
        return report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
