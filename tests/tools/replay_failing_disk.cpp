#include <chainbase/segment.hpp>
#include <pool_allocator/error.hpp>
#include <tools/chains/checked.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/file_size_limit.hpp>
#include <tests/tools/small_chain.hpp>

/// A disk that refuses is no fault of the block under way, and no state counts as closed on it.
using namespace chainbase;
using namespace chainbase::test;
using driver::chain_state;

namespace {

constexpr int accounts_per_block = 5000;

block accounts_block(std::uint64_t number) {
    block one{number, static_cast<std::int64_t>(3 * number), {}};
    for (int i = 0; i < accounts_per_block; ++i) {
        const std::string name = std::to_string(number).append("-").append(std::to_string(i));
        one.transactions.push_back({{social::encode(account(name.c_str()))}});
    }
    return one;
}

/// Applies blocks from `number` on until one fails, and throws what it throws.
void apply_until_it_fails(chain_state& state, std::uint64_t& number) {
    for (; number < 1000; ++number)
        state.apply(accounts_block(number));
}

/// The word of the segment's header that says so.
bool is_closed(const std::filesystem::path& state) {
    return test::read_file(state / "segment" / "header").at(offsetof(segment_header, clean)) == 1;
}

} // namespace

TEST_CASE("no room within an operation is told as that, names the block, and can be repeated") {
    const captured_log quiet;
    small_chain chain("steem-2016");
    chain.state.apply(accounts_block(1));
    const std::string before = chain.state.model().state_digest();
    const auto objects = chain.folder / "state" / "segment" / "account.objects";
    std::uint64_t number = 2;
    {
        const file_size_limit limit(std::filesystem::file_size(objects));
        CHECK_THROWS_AS(apply_until_it_fails(chain.state, number), out_of_space_error);
        const std::string block = "block " + std::to_string(number) + ", ";
        CHECK_THROWS_WITH(chain.state.apply(accounts_block(number)),
                          Catch::Contains(block) && Catch::Contains(objects.string()) &&
                              Catch::Contains("no space") &&
                              Catch::Contains("stays at block " + std::to_string(number - 1)));
        CHECK(chain.state.head() == number - 1);
    }
    if (number == 2) CHECK(chain.state.model().state_digest() == before);
    chain.state.apply(accounts_block(number));
    CHECK(chain.state.head() == number);
}

TEST_CASE("a state is closed properly by close, and what comes after changes nothing") {
    const captured_log quiet;
    const temporary_folder folder;
    chain_state state(folder / "state", "steem-2016", 0);
    state.apply(block_of(1, 3, account("alice")));
    CHECK_FALSE(is_closed(folder / "state"));
    state.close();
    CHECK(is_closed(folder / "state"));
    state.close();
    chain_state again(folder / "state", "steem-2016", 0);
    CHECK(again.head() == 1);
}

TEST_CASE("rows that do not reach the disk: closing fails, and the state is not marked as closed") {
    const captured_log log;
    const temporary_folder folder;
    auto state = std::make_unique<chain_state>(folder / "state", "steem-2016", 0);
    state->apply(block_of(1, 3, account("alice")));
    // A folder in its place refuses the store's mark of what is on disk, even for root.
    std::filesystem::remove(folder / "state/archive/synced");
    std::filesystem::create_directories(folder / "state/archive/synced/taken");
    SECTION("close throws") {
        CHECK_THROWS_AS(state->close(), error);
        CHECK_FALSE(log.says("closing: "));
    }
    SECTION("the destructor says so") {
        state.reset();
        CHECK(log.says("closing: "));
    }
    CHECK_FALSE(is_closed(folder / "state"));
    state.reset();
    CHECK_FALSE(is_closed(folder / "state"));
}

TEST_CASE("an archive that was moved away is missed, and no empty one takes its place") {
    const captured_log quiet;
    const temporary_folder folder;
    {
        chain_state state(folder / "state", "steem-2016", 0);
        state.apply(block_of(1, 3, account("alice")));
        state.close();
    }
    std::filesystem::rename(folder / "state/archive", folder / "elsewhere");
    CHECK_THROWS_AS(chain_state(folder / "state", "steem-2016", 0), damaged_error);
    CHECK_FALSE(std::filesystem::exists(folder / "state/archive"));
    std::filesystem::rename(folder / "elsewhere", folder / "state/archive");
    CHECK(chain_state(folder / "state", "steem-2016", 0).head() == 1);
}
