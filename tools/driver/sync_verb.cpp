#include <pool_allocator/error.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::driver {

void add_sync_verb(CLI::App& program, exit_code& result) {
    struct call : sync_options {
        std::vector<std::string> names;
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand(
        "sync", "Apply the blocks of peers to a state, one session each; goes on where it is");
    const auto peers = verb->add_option("--peer", options->names,
                                        "HOST:PORT of a peer; several: the next when one fails");
    const auto log = verb->add_option("--block-log", options->block_log,
                                      "a log in place of a peer: what sync costs without a network")
                         ->excludes(peers);
    verb->add_option("--state", options->state, "folder of the state; made when there is none")
        ->required();
    verb->add_option("--lag", options->lag, "blocks that can be popped: the deepest fork followed")
        ->transform(whole_number(0, wire::max_known_blocks - 1))
        ->capture_default_str();
    verb->add_option("--stop-at", options->stop_at, "number of the last block to apply")
        ->transform(whole_number(0, UINT64_MAX));
    verb->add_option("--attempts", options->network.attempts,
                     "failures in a row after which a peer is given up; default: 10 with --once, "
                     "else never")
        ->transform(whole_number(1, UINT32_MAX));
    verb->add_option("--threads", options->threads, "threads that decode the blocks of --block-log")
        ->needs(log)
        ->transform(whole_number(1, 64));
    verb->add_flag("--once", options->once,
                   "end at the end of the peer's chain, as replay does; else wait for more blocks");
    verb->add_flag("--verify", options->verify, "look for every object by id and by key");
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(*verb, options->watch);
    verb->callback([options, &result] {
        const catch_interruption signals;
        for (const std::string& one : options->names)
            options->peers.push_back(parse_endpoint(one));
        if (options->peers.empty() && !options->block_log)
            throw usage_error("sync needs a peer; name one with --peer HOST:PORT");
        const observation watched(options->watch);
        const sync_report report = sync(*options, signals);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        result = report.state.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
