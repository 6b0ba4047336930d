#include <pool_allocator/error.hpp>
#include <tools/driver/live/live.hpp>
#include <tools/driver/live/load.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/sync/serve.hpp>
#include <tools/driver/sync/sync.hpp>
#include <tools/driver/verb_options.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::driver {

namespace {

void print(const serve_report& report, bool as_json, bool is_end) {
    const block_server::counters& all = report.served;
    if (as_json) {
        nlohmann::ordered_json object{{"chain", report.chain},
                                      {"listening", report.address},
                                      {"head", report.head.number},
                                      {"id", to_string(report.head.id)}};
        if (is_end)
            object.update({{"connections", all.connections},
                           {"finished", all.finished},
                           {"refused", all.refused},
                           {"blocks", all.blocks},
                           {"bytes", all.bytes}});
        return print_or_throw(object.dump() + "\n");
    }
    print_or_throw(is_end ? fmt::format("served {} blocks, {} bytes: {} connections, {} of them to "
                                        "the end, {} refused\n",
                                        all.blocks, all.bytes, all.connections, all.finished,
                                        all.refused)
                          : fmt::format("{}, block {}: listening at {}\n", report.chain,
                                        report.head.number, report.address));
}

} // namespace

void declare_serve(command& verb) {
    struct call : serve_options {
        std::string listen = "127.0.0.1:0";
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--block-log", options->block_log, "the log").required();
    verb.add_option("--forks", options->forks,
                    "a file of branches that lose against the log, as generate makes it");
    verb.add_option("--listen", options->listen,
                    "HOST:PORT, or :PORT for the loopback; port 0: any, told on stdout")
        .shows_default();
    command_option& rate =
        verb.add_option("--blocks-per-second", options->blocks_per_second,
                        "let blocks appear at this rate, as on a chain that lives")
            .real_number(0.001, 1e9);
    verb.add_option("--from-head", options->from_head,
                    "number of the last block that is there from the begin")
        .needs(rate)
        .whole_number(1, UINT64_MAX);
    verb.add_option("--connections", options->network.connections, "at most, at once")
        .whole_number(1, 10'000)
        .shows_default();
    verb.add_option("--connections-per-address", options->network.connections_per_address,
                    "of those, from one address")
        .whole_number(1, 10'000)
        .shows_default();
    verb.add_flag("--once", options->once, "end when a client has had everything and hung up");
    verb.add_flag("--json", options->json,
                  "two JSON objects on stdout, a line each: first where "
                  "it listens, at the end what was served");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        options->network.listen = parse_endpoint(options->listen);
        const serve_report report = serve(*options, signals, [&](const serve_report& begun) {
            print(begun, options->json, false);
        });
        print(report, options->json, true);
        return exit_code::done; // a signal is how it is meant to end
    });
}

void declare_sync(command& verb) {
    struct call : sync_options {
        bool json = false;
        observation_options watch;
    };
    const auto options = std::make_shared<call>();
    add_following_options(verb, *options);
    verb.add_flag("--verify", options->verify, "look for every object by id and by key");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const sync_report report = sync(*options, signals);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        return report.state.interrupted ? exit_code::interrupted : exit_code::done;
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
    verb.add_option("--shuffle", options->shuffle, "they arrive out of order, by this seed")
        .whole_number(0, UINT64_MAX);
    add_milliseconds(verb, "--interval-ms", options->interval, 0,
                     "between blocks; 0: as fast as they come");
    add_milliseconds(verb, "--budget-ms", options->budget, 0,
                     "time after a block to apply again what is pending");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    add_observation_options(verb, options->watch);
    verb.runs([options] {
        const catch_interruption signals;
        const observation watched(options->watch);
        const live::live_report report = live::live(*options, signals);
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        return report.interrupted ? exit_code::interrupted : exit_code::done;
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
    verb.add_option("--seed", to.seed, "what is drawn at random is the same for the same seed")
        .whole_number(0, UINT64_MAX)
        .shows_default();
    verb.add_option("--state", to.state,
                    "a new folder for the state; default: one in memory, that goes away");
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
    command_option& step = verb.add_option("--step", to.step, "how much more each step is (50000)")
                               .whole_number(1, 100'000'000);
    verb.add_option("--factor", to.steps.factor, "how many times the last one each step is")
        .real_number(1.001, 1000.)
        .excludes(step);
    verb.add_option("--last-rate", to.last_rate, "no higher one is tried")
        .whole_number(1, 100'000'000);
    verb.add_option("--seconds", to.seconds, "that each rate is kept up")
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
    verb.add_option("--to", options->to, "folder for load.csv, load.json and load.svg");
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
        print_or_throw(options->json ? live::to_json(report) + "\n" : live::to_text(report));
        return report.interrupted ? exit_code::interrupted : exit_code::done;
    });
}

} // namespace chainbase::driver
