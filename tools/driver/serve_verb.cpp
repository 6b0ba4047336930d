#include <tools/driver/observation.hpp>
#include <tools/driver/sync/serve.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

} // namespace chainbase::driver
