#include <pool_allocator/error.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/driver/progress.hpp>
#include <tools/driver/sync/following.hpp>
#include <tools/driver/sync/log_source.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace chainbase::driver {

namespace {

std::string chain_to_follow(const following_options& options) {
    if (!options.chain.empty()) require_known_chain(options.chain);
    const std::optional<std::string> known = chain_state::chain_of(options.state, options.promise);
    if (known && !options.chain.empty() && *known != options.chain)
        throw usage_error("the state " + options.state.string() + " is of the chain " + *known +
                          ", not of " + options.chain + "; name that chain, or another folder");
    return known.value_or(options.chain);
}

} // namespace

std::unique_ptr<block_source> make_block_source(const following_options& options) {
    if (options.block_log)
        return std::make_unique<log_source>(open_log(*options.block_log), options.threads,
                                            options.stop_at);
    peer_feed::options network = options.network;
    network.peers = options.peers;
    network.chain = chain_to_follow(options);
    network.stop_at = options.stop_at;
    if (options.once && network.attempts == 0) network.attempts = 10;
    return std::make_unique<peer_feed>(std::move(network));
}

std::unique_ptr<chain_state> open_state(const following_options& options,
                                        const std::string& chain) {
    auto state = std::make_unique<chain_state>(options.state, chain, options.lag, options.promise);
    if (options.block_log) state->go_on_with(open_log(*options.block_log));
    if (options.stop_at) state->require_not_beyond(*options.stop_at);
    state->settle_root();
    return state;
}

nlohmann::ordered_json to_object(const following_figures& figures) {
    return {{"forks", figures.chain.forks},
            {"switches", figures.chain.switches},
            {"popped_blocks", figures.chain.popped},
            {"rejected_blocks", figures.chain.rejected},
            {"useless_blocks", figures.chain.useless},
            {"connections", figures.source.connections},
            {"failures", figures.source.failures},
            {"bytes_received", figures.source.bytes}};
}

std::string in_words(const following_figures& figures) {
    return fmt::format("forks: {}, switches to another branch: {}, blocks popped: {}, rejected: "
                       "{}, useless: {}\n"
                       "received: {} in {} connections, {} failures\n",
                       figures.chain.forks, figures.chain.switches, figures.chain.popped,
                       figures.chain.rejected, figures.chain.useless,
                       bytes_in_words(figures.source.bytes), figures.source.connections,
                       figures.source.failures);
}

} // namespace chainbase::driver
