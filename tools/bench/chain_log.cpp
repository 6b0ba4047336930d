#include <pool_allocator/error.hpp>
#include <tools/bench/chain_log.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/replay.hpp>

#include <algorithm>
#include <vector>

namespace chainbase::bench {

namespace {

struct block_size {
    std::uint64_t number;
    std::uint64_t transactions;
    std::uint64_t operations;
};

std::vector<block_size> sizes_of(const block_log_reader& log) {
    std::vector<block_size> sizes;
    driver::block_feed feed(log, decoder_of(log.chain()), {0, {}, driver::preparing_threads()});
    while (auto next = feed.next()) {
        for (const auto& one : next->blocks)
            sizes.push_back({one->number(), one->transactions(), one->operations()});
        feed.give_back(std::move(*next));
    }
    return sizes;
}

/// How many blocks at the end it takes to have `pending` transactions, at most half of them.
std::size_t rest_of(const std::vector<block_size>& sizes, std::uint64_t pending) {
    std::uint64_t transactions = 0;
    std::size_t blocks = 0;
    while (blocks < sizes.size() / 2 && transactions < pending)
        transactions += sizes[sizes.size() - ++blocks].transactions;
    return blocks;
}

} // namespace

chain_log survey(const std::filesystem::path& path, std::uint64_t live_blocks,
                 std::uint64_t pending) {
    const block_log_reader log(path);
    require_known_chain(log.chain());
    const std::vector<block_size> sizes = sizes_of(log);
    if (sizes.empty())
        throw usage_error(path.string() + ": has no blocks; name a log that has some");
    chain_log result{path, log.chain(), sizes.size(), 0, 0, 0, 0, 0, 0};
    result.rest_blocks = rest_of(sizes, pending);
    result.live_blocks =
        std::min<std::uint64_t>(live_blocks, sizes.size() / 2 - result.rest_blocks / 2);
    const std::size_t first = sizes.size() - result.rest_blocks - result.live_blocks;
    result.live_from = first < sizes.size() ? sizes[first].number : sizes.back().number + 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        result.transactions += sizes[i].transactions;
        result.operations += sizes[i].operations;
        if (i < first) result.sync_operations += sizes[i].operations;
    }
    return result;
}

} // namespace chainbase::bench
