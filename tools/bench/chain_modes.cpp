#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/replay.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
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

/// The number of last blocks with at least `pending` transactions, at most half of them.
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

namespace {

void apply_plainly(chain_model& model, run_of_blocks run) {
    for (const decoded_block* one : run) {
        model.begin_block(one->number(), one->timestamp());
        for (std::size_t i = 0; i < one->transactions(); ++i)
            model.apply(*one, i);
        model.end_block();
    }
}

/// Skips prefetching for an engine that cannot do it.
void apply_run(chain_engine& engine, run_of_blocks run, std::size_t hand_over) {
    std::size_t at = 0;
    engine.model().hand_over_behind(hand_over);
    if (engine.asks_ahead())
        apply_blocks(engine.model(), run, at);
    else
        apply_plainly(engine.model(), run);
}

void apply_step(chain_engine& engine, run_of_blocks run, stepping how) {
    const std::size_t batch = driver::step_hand_over(engine.model());
    if (how == stepping::without_sessions) return apply_run(engine, run, batch);
    engine.start_session();
    apply_run(engine, run, batch);
    engine.push();
    engine.commit(engine.revision());
}

void apply_steps(chain_engine& engine, run_of_blocks blocks, stepping how) {
    while (!blocks.empty()) {
        const std::size_t step = driver::step_of(blocks);
        apply_step(engine, blocks.first(step), how);
        blocks = blocks.subspan(step);
    }
}

void apply_one(chain_engine& engine, const decoded_block& next) {
    const decoded_block* const alone = &next;
    engine.start_session();
    apply_run(engine, {&alone, 1}, driver::block_hand_over);
    engine.push();
    engine.commit(engine.revision() - blocks_to_irreversible);
}

/// Archives all finished objects, as at the end of a replay.
void finish(chain_engine& engine) {
    engine.commit(engine.revision());
    for (bool more = true; more;) {
        engine.start_session();
        more = engine.model().hand_over(driver::max_handed_over) != 0;
        engine.push();
        engine.commit(engine.revision());
    }
}

std::vector<const decoded_block*> run_over(const driver::block_feed::chunk& blocks) {
    std::vector<const decoded_block*> run;
    run.reserve(blocks.blocks.size());
    for (const auto& one : blocks.blocks)
        run.push_back(one.get());
    return run;
}

/// Passes the blocks of each arriving record to `apply`.
template <typename Apply>
void feed_through(driver::block_feed& feed, Apply&& apply) {
    while (auto next = feed.next()) {
        throw_if_interrupted();
        apply(run_of_blocks(run_over(*next)));
        feed.give_back(std::move(*next));
    }
}

// --- live ---

/// The transactions of a run, starting with its first block.
class pending_round {
public:
    pending_round(chain_engine& engine, run_of_blocks ahead, std::uint64_t limit)
        : engine_(engine), ahead_(ahead), limit_(limit) {}

    void apply(live_times& times) {
        engine_.start_session();
        engine_.model().begin_pending(ahead_.front()->timestamp());
        std::optional<lookahead<run_cursor>> memory;
        if (engine_.asks_ahead()) memory.emplace(engine_.model(), run_cursor(ahead_));
        run_cursor at(ahead_);
        for (std::uint64_t i = 0; i < limit_ && !at.done(); ++i, at.next()) {
            if (memory) memory->step();
            ++times.pending;
            if (!apply_one_pending(at)) ++times.rejected;
        }
    }
    void drop() { engine_.undo(); }

private:
    bool apply_one_pending(const run_cursor& at) {
        engine_.start_session();
        try {
            engine_.model().apply(at.block(), at.transaction());
        } catch (const rejected_error&) {
            engine_.undo();
            return false;
        }
        engine_.squash();
        return true;
    }

    chain_engine& engine_;
    run_of_blocks ahead_;
    std::uint64_t limit_;
};

std::vector<driver::block_feed::chunk> blocks_from(const chain_log& log) {
    const block_log_reader reader(log.path);
    driver::block_feed feed(reader, decoder_of(log.chain),
                            {log.live_from, {}, driver::preparing_threads()});
    std::vector<driver::block_feed::chunk> all;
    while (auto next = feed.next())
        all.push_back(std::move(*next));
    return all;
}

} // namespace

replay_times replay(chain_engine& engine, const chain_log& log, stepping how) {
    const block_log_reader reader(log.path);
    replay_times times;
    std::optional<driver::block_feed> feed;
    times.ns = nanoseconds([&] {
        feed.emplace(reader, decoder_of(log.chain),
                     driver::block_feed::options{0, {}, driver::preparing_threads()});
        feed_through(*feed, [&](run_of_blocks blocks) { apply_steps(engine, blocks, how); });
        finish(engine);
    });
    using in_ns = std::chrono::duration<double, std::nano>;
    // a figure must not be 0
    times.waiting_ns = std::max(in_ns(feed->waited().for_blocks).count(), 1.0);
    times.helping_ns = std::max(in_ns(feed->waited().helping).count(), 1.0);
    return times;
}

void replay(chain_engine& engine, run_of_blocks blocks, stepping how) {
    apply_steps(engine, blocks, how);
}

double sync(chain_engine& engine, const chain_log& log) {
    const block_log_reader reader(log.path);
    if (log.live_from == 0) return 0;
    return nanoseconds([&] {
        driver::block_feed feed(reader, decoder_of(log.chain),
                                {0, log.live_from - 1, driver::preparing_threads()});
        feed_through(feed, [&](run_of_blocks blocks) {
            for (const decoded_block* one : blocks)
                apply_one(engine, *one);
        });
    });
}

live_times live(chain_engine& engine, const chain_log& log, std::uint64_t pending) {
    const std::vector<driver::block_feed::chunk> chunks = blocks_from(log);
    std::vector<const decoded_block*> ahead;
    for (const auto& one : chunks)
        for (const decoded_block* block : run_over(one))
            ahead.push_back(block);
    live_times times;
    run_of_blocks rest(ahead);
    for (std::uint64_t i = 0; i < log.live_blocks; ++i, rest = rest.subspan(1)) {
        throw_if_interrupted();
        pending_round round(engine, rest, pending);
        times.pending_ns += nanoseconds([&] {
            round.apply(times);
            round.drop();
        });
        times.ns += nanoseconds([&] { apply_one(engine, *rest.front()); });
    }
    times.ns += times.pending_ns;
    for (const decoded_block* one : rest)
        apply_one(engine, *one);
    finish(engine);
    return times;
}

} // namespace chainbase::bench
