#include <pool_allocator/error.hpp>
#include <pool_allocator/trace.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/driver/sync/serve.hpp>

#include <utility>

namespace chainbase::driver {

namespace {

std::vector<losing_branch> branches_of(const serve_options& options, const std::string& chain) {
    std::vector<losing_branch> all = options.branches;
    if (options.forks.empty()) return all;
    branch_file_reader file(options.forks, chain);
    while (const auto next = file.next()) {
        losing_branch one{next->forks_after, {}};
        for (const block& each : next->blocks)
            one.blocks.push_back(encode_block(each));
        all.push_back(std::move(one));
    }
    return all;
}

const trace::gauge connections("serve.connections");
const trace::gauge refused("serve.refused");
const trace::gauge finished("serve.finished");
const trace::gauge blocks("serve.blocks");
const trace::gauge sent_bytes("serve.bytes");

void show(const block_server::counters& all) {
    connections.set(static_cast<double>(all.connections));
    refused.set(static_cast<double>(all.refused));
    finished.set(static_cast<double>(all.finished));
    blocks.set(static_cast<double>(all.blocks));
    sent_bytes.set(static_cast<double>(all.bytes));
}

} // namespace

serve_report serve(const serve_options& options, const catch_interruption& signals,
                   const std::function<void(const serve_report&)>& ready) {
    const block_log_reader log = open_log(options.block_log);
    const served_chain chain(log, branches_of(options, log.chain()),
                             [&] { return signals.noted(); });
    block_server::options network = options.network;
    network.blocks_per_second = options.blocks_per_second;
    if (options.from_head != 0) {
        const auto index = chain.ids().index_of(options.from_head);
        if (!index)
            throw usage_error(log.path().string() + " has no block " +
                              std::to_string(options.from_head) +
                              " to begin with as the head; name one that it has");
        network.there = *index + 1;
    }
    block_server server(chain, network);
    serve_report report{log.chain(), server.address(), chain.head(chain.ids().count()), {}, false};
    ready(report);
    while (!signals.noted() && !(options.once && server.so_far().finished > 0)) {
        show(server.so_far());
        server.run_for(std::chrono::milliseconds(50));
    }
    show(server.so_far());
    report.served = server.so_far();
    report.interrupted = signals.noted();
    return report;
}

} // namespace chainbase::driver
