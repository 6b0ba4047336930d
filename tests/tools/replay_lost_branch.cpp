#include <pool_allocator/error.hpp>
#include <pool_allocator/trace.hpp>
#include <pool_allocator/trace_reading.hpp>
#include <tools/driver/chain_state.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/payments_tree.hpp>

/// A state that was left on a branch, and a log, which holds the branch that won.
using namespace chainbase;
using namespace chainbase::test;
using driver::chain_state;

namespace {

/// Two branches behind the third block, whose last blocks are the same, byte for byte.
struct forked {
    captured_log quiet;
    random_source random{7};
    payments_tree tree{100};
    std::size_t common = tree.add(tree.add(1, random), random);
    std::size_t lost = tree.add(common, random);
    std::size_t won = tree.add(common, random);
    std::size_t end_of_lost = tree.add(lost, random);
    std::size_t end_of_won = tree.add_copy(won, tree.at(end_of_lost).value);
    temporary_folder folder;

    [[nodiscard]] block_log_reader log(std::size_t last) {
        const std::string path = folder / ("log" + std::to_string(last));
        write_blocks(path, "payments", tree.chain_to(last));
        return block_log_reader(path);
    }
    void apply_lost(chain_state& state) {
        for (const block& one : tree.chain_to(end_of_lost))
            state.apply(one);
    }
};

} // namespace

TEST_CASE("a state on a branch that lost goes back to where the log's branch begins") {
    forked all;
    REQUIRE(all.tree.at(all.end_of_lost).value == all.tree.at(all.end_of_won).value);
    const std::size_t last = all.tree.add(all.end_of_won, all.random);
    small_chain here("payments", /*lag=*/3);
    all.apply_lost(here.state);
    here.state.go_on_with(all.log(last));
    CHECK(here.state.head() == 3);
    CHECK(all.quiet.says("going back from block 5 to 3"));
    for (const std::size_t one : {all.won, all.end_of_won, last})
        here.state.apply(all.tree.at(one).value);
    CHECK(here.state.model().state_digest() == all.tree.digest_at(last));
    CHECK(here.state.head_id() == all.tree.at(last).place.id);
}

TEST_CASE("blocks that cannot be popped, and a log that is too short, are refused") {
    forked all;
    small_chain here("payments", /*lag=*/1);
    all.apply_lost(here.state);
    CHECK_THROWS_AS(here.state.go_on_with(all.log(all.end_of_won)), usage_error);
    small_chain other("payments", /*lag=*/3);
    all.apply_lost(other.state);
    CHECK_THROWS_AS(other.state.go_on_with(all.log(all.lost)), usage_error);
    CHECK(here.state.head() == 5);
    CHECK(other.state.head() == 5);
    other.state.go_on_with(all.log(all.end_of_lost));
    CHECK(other.state.head() == 5);
}

TEST_CASE("what was applied is counted, in whatever runs") {
    forked all;
    trace::enable(true);
    const auto counted = [] {
        for (const auto& one : trace::snapshot().counters)
            if (one.name == "driver.operations") return one.value;
        return std::uint64_t{0};
    };
    const std::uint64_t before = counted();
    small_chain here("payments", /*lag=*/3);
    all.apply_lost(here.state);
    const auto decode = decoder_of("payments");
    block next = all.tree.at(all.end_of_lost).value;
    for (int i = 0; i < 3; ++i) { // and as runs of two
        std::vector<std::shared_ptr<const decoded_block>> run;
        std::vector<const decoded_block*> blocks;
        for (int k = 0; k < 2; ++k) {
            ++next.number;
            run.push_back(decode(encode_block(next)));
            blocks.push_back(run.back().get());
        }
        here.state.apply_irreversible(blocks);
    }
    CHECK(counted() - before == here.state.operations());
    trace::enable(false);
}
