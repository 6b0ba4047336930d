#include <tools/command_line.hpp>
#include <tools/driver/verb_options.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace chainbase::driver {

void add_following_options(command& verb, following_options& to) {
    const auto add_peers = [&to](const std::vector<std::string>& names) {
        for (const std::string& one : names)
            to.peers.push_back(parse_endpoint(one));
    };
    command_option& peers = verb.add_option_function<std::vector<std::string>>(
        "--peer", add_peers, "HOST:PORT of a peer; several: the next when one fails");
    command_option& log = verb.add_option("--block-log", to.block_log,
                                          "a log in place of a peer, as if one had sent its blocks")
                              .excludes(peers);
    verb.add_option("--state", to.state, "folder of the state; made when there is none").required();
    add_promise_options(verb, to.promise);
    verb.add_option("--chain", to.chain,
                    "the chain of a new state; default: that of the first peer that answers")
        .excludes(log);
    verb.add_option(
            "--lag", to.lag,
            "blocks that can be popped: the deepest fork followed, as far as its blocks take no "
            "more than 256 MiB decoded")
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
                  "end at the end of the peer's chain, as at that of a log; else wait for more "
                  "blocks");
}

namespace {

std::set<std::string> types_in(const std::vector<std::string>& names) {
    std::set<std::string> types(names.begin(), names.end());
    if (types.contains("")) throw usage_error("--state-root: a name is missing: TYPE,...");
    if (types.size() > 1 && (types.contains("all") || types.contains("none")))
        throw usage_error("--state-root: \"all\" and \"none\" stand alone");
    return types;
}

void add_root_options(command& verb, root_options& to) {
    verb.add_option_function<std::vector<std::string>>(
            "--state-root",
            [&to](const std::vector<std::string>& names) { to.types = types_in(names); },
            "keep a root, 32 bytes that commit to all objects of these TYPEs (all: of every type "
            "of the chain), brought up to date with each block; none: no root, as in a new state; "
            "a state stays as it was otherwise")
        .delimiter(',')
        .value_name("TYPE,...");
    verb.add_option("--keep-roots", to.kept,
                    "keep the roots of so many blocks for `bisect`; default: as before, or 100000")
        .whole_number(1, 1'000'000'000);
    verb.add_option("--root-threads", to.threads,
                    "threads that hash for the root, beside the one that applies blocks; default: "
                    "those that the machine has beside it")
        .whole_number(0, 64);
}

} // namespace

void add_promise_options(command& verb, promise_options& to) {
    static const std::map<std::string, durability> levels{{"process", durability::process},
                                                          {"checkpoint", durability::checkpoint},
                                                          {"commit", durability::commit}};
    verb.add_option_function<std::string>(
            "--durability", [&to](const std::string& name) { to.level = levels.at(name); },
            "what the state survives: a kill of the process alone, or a crash of the machine, too, "
            "back to its last checkpoint, or to the last block that was synced, milliseconds ago")
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
    verb.add_option("--memory-folder", to.memory_folder,
                    "where to keep the shared memory when it is made or restored, such as "
                    "/dev/shm; default: in the state's folder, or where it was")
        .existing_folder(); // before a state is made that cannot have it
    verb.add_option_function<std::string>(
            "--archive",
            [&to](const std::string& name) { to.archive = archive::store_kind_of(name); },
            "where a new state keeps the objects that are finished: in RocksDB, as rows in its "
            "own memory, or, with none, in memory as they were; a state stays as it was made")
        .one_of({"rocksdb", "memory", "none"})
        .default_text("rocksdb");
    verb.add_option("--group", to.group,
                    "a group, by name or number, whose members may read a new state and its "
                    "archive; without it nobody but its owner may");
    add_root_options(verb, to.root);
}

void add_reading_options(command& verb, live::readers::options& to) {
    verb.add_option("--readers", to.threads, "threads that ask what an API is asked")
        .whole_number(0, 64)
        .shows_default();
    verb.add_option("--questions", to.questions_per_second,
                    "questions a second of each reader; 0: without a pause")
        .whole_number(0, 10'000'000)
        .shows_default();
}

void add_batch_option(command& verb, live::batching& to) {
    verb.add_option("--batch", to.transactions,
                    "transactions each time the write lock is taken; 0: all that wait, for at most "
                    "5 ms")
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

} // namespace chainbase::driver
