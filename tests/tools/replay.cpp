#include <archive/open_archive.hpp>
#include <chainbase/database.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <pool_allocator/trace/trace_reading.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/progress.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <tests/support/captured_log.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/seeded.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/small_chain.hpp>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <thread>

/// A chain's state as the driver's verbs use it: blocks are applied, popped and applied again,
/// disks refuse, branches lose, other processes read beside it. tests/programs tests whole
/// programs.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;
using driver::chain_state;

// --- blocks are popped and applied again, also across hand-overs to the archive ---

namespace {

std::int64_t archived(const chain_state& state) {
    std::int64_t sum = 0;
    for (const auto& [type, objects] : state.model().archived())
        sum += objects;
    return sum;
}

/// Applies blocks, and every now and then, and after every other block in which objects left
/// memory, pops some and applies them again, up to as many as the lag. Returns how often objects
/// came back.
template <typename Next>
int apply_with_pops(chain_state& state, std::size_t lag, random_source& random, Next&& next) {
    int came_back = 0;
    std::deque<block> last;
    while (auto one = next()) {
        const std::int64_t archived_before = archived(state);
        state.apply(*one);
        const bool some_left = archived(state) > archived_before;
        last.push_back(std::move(*one));
        if (last.size() > lag) last.pop_front();
        if (random.below(some_left ? 2 : 200) != 0) continue;
        const std::size_t popped = 1 + random.below(static_cast<std::uint32_t>(last.size()));
        const std::int64_t before = archived(state);
        for (std::size_t i = 0; i < popped; ++i)
            state.pop();
        came_back += archived(state) < before ? 1 : 0;
        for (std::size_t i = last.size() - popped; i < last.size(); ++i)
            state.apply(last[i]);
    }
    return came_back;
}

} // namespace

TEST_CASE_METHOD(seeded, "popping blocks and applying them again leads to the same state") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const captured_log quiet;
    const real_log log(chain);
    chain_state state(log.state(), chain, 20);
    block_log_stream blocks = block_log_reader(log.path()).stream();
    const int came_back = apply_with_pops(state, 20, random, [&] { return blocks.next(); });
    if (chain == "steem-2016") CHECK(came_back > 0);
    CHECK(state.model().state_digest() == digest_at_end(chain));
    state.model().check();
    CHECK(state.model().verify().problem_count == 0);
    state.finish();
    CHECK(state.model().state_digest() == digest_at_end(chain));
    CHECK(state.model().verify().problem_count == 0);
    CHECK(state.irreversible() == state.head());
    CHECK_THROWS_AS(state.pop(), usage_error);
}

TEST_CASE("reversible blocks can be popped after the state was closed and opened") {
    const captured_log quiet;
    const real_log log("steem-2016");
    std::string at_101;
    {
        chain_state state(log.state(), log.chain(), 20);
        block_log_stream blocks = block_log_reader(log.path()).stream();
        while (state.blocks() < 120) {
            state.apply(*blocks.next());
            if (state.blocks() == 101) at_101 = state.model().state_digest();
        }
    }
    chain_state state(log.state(), log.chain(), 20);
    CHECK(state.irreversible() == 100);
    for (int i = 0; i < 19; ++i)
        state.pop();
    CHECK(state.head() == 101);
    CHECK(state.model().state_digest() == at_101);
    state.pop();
    CHECK_THROWS_AS(state.pop(), usage_error);
    CHECK(state.head() == 100);
    CHECK(state.irreversible() == 100);
}

TEST_CASE("blocks that are applied one by one come to what a replay comes to, with any lag") {
    const captured_log quiet;
    const real_log log("steem-2016");
    const std::int64_t lag = GENERATE(0, 1, 20, 30000);
    chain_state state(log.state(), log.chain(), lag);
    block_log_stream blocks = block_log_reader(log.path()).stream();
    while (state.head() < 140'000)
        state.apply(*blocks.next());
    CHECK(state.irreversible() == 140'000 - static_cast<std::uint64_t>(lag));
    // What `replay --stop-at 140000` says; test_driver_replay.py requires it of the program.
    CHECK(state.model().state_digest() ==
          "bf7e2068faa571525d3218a8810f0678faf00521b4a13b380f83a0dcf00db1bc");
    const std::int64_t before = archived(state);
    state.finish();
    if (lag == 30000) CHECK(before < archived(state)); // which holds many back
    while (const auto next = blocks.next())
        state.apply(*next);
    CHECK(state.model().state_digest() == digest_at_end(log.chain()));
}

TEST_CASE_METHOD(seeded, "forks pop deletions of what was archived, and what took its permlink") {
    const captured_log quiet;
    const std::vector<block> blocks = all_blocks(deleting_chain(20'000, seed));
    std::string expected;
    for (const auto kind : {archive::store_kind::none, archive::store_kind::rocksdb,
                            archive::store_kind::memory, archive::store_kind::none}) {
        CAPTURE(archive::to_string(kind));
        const temporary_folder folder(memory_or_disk());
        random_source random(seed);
        driver::state_options state_settings;
        state_settings.archive = kind;
        chain_state state(folder / "state", "social", 12, state_settings);
        while (state.head() < blocks.size()) {
            state.apply(blocks[state.head()]);
            if (expected.empty() || !random.chance(100)) continue; // the first one never pops
            for (std::uint32_t left = random.below(13);
                 left > 0 && state.head() > state.irreversible(); --left)
                state.pop();
        }
        state.finish();
        CHECK(state.model().verify().problem_count == 0);
        if (expected.empty()) expected = state.model().state_digest();
        CHECK(state.model().state_digest() == expected);
    }
}

// --- a disk that refuses is no fault of the block under way ---

namespace {

block accounts_block(std::uint64_t number) {
    block one{number, static_cast<std::int64_t>(3 * number), {}};
    for (int i = 0; i < 5000; ++i) {
        const std::string name = std::to_string(number).append("-").append(std::to_string(i));
        one.transactions.push_back({{social::encode(account(name.c_str()))}});
    }
    return one;
}

/// The word of the segment's header that says so.
bool is_closed(const std::filesystem::path& state) {
    return test::read_all(state / "segment" / "header").at(offsetof(segment_header, clean)) == 1;
}

/// A state of one block.
std::unique_ptr<chain_state> state_of_alice(const std::filesystem::path& folder) {
    auto state = std::make_unique<chain_state>(folder, "steem-2016", 0);
    state->apply(block_of(1, 3, account("alice")));
    return state;
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
        const auto apply_until_it_fails = [&] {
            for (; number < 1000; ++number)
                chain.state.apply(accounts_block(number));
        };
        CHECK_THROWS_AS(apply_until_it_fails(), out_of_space_error);
        const std::string block = "block " + std::to_string(number) + ", ";
        CHECK_THROWS_WITH(chain.state.apply(accounts_block(number)),
                          Contains(block) && Contains(objects.string()) && Contains("no space") &&
                              Contains("stays at block " + std::to_string(number - 1)));
        CHECK(chain.state.head() == number - 1);
    }
    if (number == 2) CHECK(chain.state.model().state_digest() == before);
    chain.state.apply(accounts_block(number));
    CHECK(chain.state.head() == number);
}

TEST_CASE("a state is closed properly by close, and what comes after changes nothing") {
    const captured_log quiet;
    const temporary_folder folder;
    const auto state = state_of_alice(folder / "state");
    CHECK_FALSE(is_closed(folder / "state"));
    state->close();
    CHECK(is_closed(folder / "state"));
    state->close();
    CHECK(chain_state(folder / "state", "steem-2016", 0).head() == 1);
}

TEST_CASE("rows that do not reach the disk: closing fails, and the state is not marked as closed") {
    const captured_log log;
    const temporary_folder folder;
    auto state = state_of_alice(folder / "state");
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
    state_of_alice(folder / "state")->close();
    std::filesystem::rename(folder / "state/archive", folder / "elsewhere");
    CHECK_THROWS_AS(chain_state(folder / "state", "steem-2016", 0), damaged_error);
    CHECK_FALSE(std::filesystem::exists(folder / "state/archive"));
    std::filesystem::rename(folder / "elsewhere", folder / "state/archive");
    CHECK(chain_state(folder / "state", "steem-2016", 0).head() == 1);
}

// --- a state on a branch that lost, and a log, which holds the one that won ---

namespace {

using blocks = std::vector<block>;

/// From alice to bob.
block payment(std::uint64_t number, std::int64_t amount) {
    return {number,
            static_cast<std::int64_t>(1000 + number),
            {{{payments::encode(payments::payment{"alice", "bob", amount})}}}};
}

const block first{1,
                  1000,
                  {{{payments::encode(payments::account_create{"alice", 1000})}},
                   {{payments::encode(payments::account_create{"bob", 0})}}}};
/// Two branches behind the third block, whose last blocks are the same, byte for byte.
const blocks lost{first, payment(2, 1), payment(3, 2), payment(4, 3), payment(5, 5)};
const blocks won{first, payment(2, 1), payment(3, 2), payment(4, 4), payment(5, 5), payment(6, 6)};

/// A payments chain at the end of these blocks.
struct branch_state : small_chain {
    explicit branch_state(const blocks& all, std::int64_t lag = 3) : small_chain("payments", lag) {
        for (const block& one : all)
            state.apply(one);
    }
    /// With a log of the first blocks of a branch.
    void align_with_log(const blocks& branch, std::ptrdiff_t count) {
        const auto path = folder / ("log" + std::to_string(count));
        write_blocks(path, "payments", {branch.begin(), branch.begin() + count});
        state.align_with_log(block_log_reader(path));
    }
};

} // namespace

TEST_CASE("a state on a branch that lost goes back to where the log's branch begins") {
    const captured_log said;
    branch_state here(lost);
    here.align_with_log(won, 6);
    CHECK(here.state.head() == 3);
    CHECK(said.says("going back from block 5 to 3"));
    for (std::size_t i = 3; i < won.size(); ++i)
        here.state.apply(won[i]);
    const branch_state there(won);
    CHECK(here.state.model().state_digest() == there.state.model().state_digest());
    CHECK(here.state.head_id() == there.state.head_id());
}

TEST_CASE("blocks that cannot be popped, and a log that is too short, are refused") {
    const captured_log quiet;
    branch_state final(lost, /*lag=*/1);
    CHECK_THROWS_AS(final.align_with_log(won, 5), usage_error);
    CHECK(final.state.head() == 5);
    branch_state other(lost);
    CHECK_THROWS_AS(other.align_with_log(lost, 4), usage_error);
    CHECK(other.state.head() == 5);
    other.align_with_log(lost, 5);
    CHECK(other.state.head() == 5);
}

TEST_CASE("what was applied is counted, in whatever runs") {
    const captured_log quiet;
    trace::enable(true);
    const auto counted = [] {
        for (const auto& one : trace::snapshot().counters)
            if (one.name == "driver.operations") return one.value;
        return std::uint64_t{0};
    };
    const std::uint64_t before = counted();
    branch_state here(lost);
    const auto decode = decoder_of("payments");
    for (std::uint64_t number = 6; number < 12; number += 2) { // and as runs of two
        const std::array run{decode(encode_block(payment(number, 1))),
                             decode(encode_block(payment(number + 1, 1)))};
        const std::array<const decoded_block*, 2> pointers{run[0].get(), run[1].get()};
        here.state.apply_irreversible(pointers);
    }
    CHECK(here.state.operations() == 2 + 4 + 6);
    CHECK(counted() - before == here.state.operations());
    trace::enable(false);
}

// --- processes that read a state beside the driver, while either is killed ---

namespace {

/// Another process that checks the chain's identities at every block it sees.
class reader_process {
public:
    explicit reader_process(const real_log& log, std::filesystem::path state)
        : chain_(log.chain()), state_(std::move(state)) {
        start();
    }
    ~reader_process() { kill(); }
    reader_process(const reader_process&) = delete;
    reader_process& operator=(const reader_process&) = delete;

    void start() {
        seen_->head = 0;
        process_ = fork_process([this] {
            for (;;)
                look_until_refused();
        });
    }
    void kill() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    [[nodiscard]] std::uint64_t looks() const { return seen_->looks; }
    [[nodiscard]] std::uint64_t torn() const { return seen_->torn; }

private:
    struct seen {
        std::atomic<std::uint64_t> looks{0};
        std::atomic<std::uint64_t> torn{0};
        std::atomic<std::uint64_t> head{0};
    };

    /// A state that is not there yet, or whose writer died and has no successor, is no failure.
    void look_until_refused() {
        try {
            open_options how;
            how.mode = open_mode::read_only;
            how.wait_for_writer = std::chrono::minutes(5);
            database state(state_, how);
            state.add_type<driver::applied_block>("applied_block");
            archive::none_store rows;
            const auto model = make_chain_model(chain_, state, rows);
            for (;;)
                state.with_read_lock([&] { look(state, *model); });
        } catch (const error&) {
            ::usleep(1000);
        } catch (const std::exception&) {
            ++seen_->torn;
        }
    }
    void look(const database& state, const chain_model& model) {
        const std::uint32_t next = state.next_id<driver::applied_block>().value;
        const auto* const head =
            next == 0 ? nullptr : state.find(id<driver::applied_block>(next - 1));
        if (head == nullptr) return; // before the first block
        try {
            model.check();
        } catch (const damaged_error&) {
            ++seen_->torn;
        }
        if (head->number < seen_->head.exchange(head->number)) ++seen_->torn;
        ++seen_->looks;
    }

    std::string chain_;
    std::filesystem::path state_;
    std::shared_ptr<seen> seen_ = in_shared_memory<seen>();
    pid_t process_ = 0;
};

/// chainbase-driver, whose outputs go to nowhere. -1 of code(): it was killed.
class replaying_process {
public:
    replaying_process(const real_log& log, const std::string& state) {
        std::vector<std::string> call = log.replay({"--checkpoint-interval", "0.05"}, state);
        call.insert(call.begin(), CHAINBASE_DRIVER);
        std::vector<char*> raw;
        for (std::string& one : call)
            raw.push_back(one.data());
        raw.push_back(nullptr);
        process_ = ::fork();
        if (process_ != 0) return;
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, STDOUT_FILENO);
        ::dup2(nowhere, STDERR_FILENO);
        ::execv(raw.front(), raw.data());
        ::_exit(127);
    }
    void kill() const { ::kill(process_, SIGKILL); }
    [[nodiscard]] int code() const {
        int status = 0;
        ::waitpid(process_, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t process_;
};

} // namespace

TEST_CASE(
    "killed again and again beside readers that are killed, a replay comes to the same state") {
    using clock = std::chrono::steady_clock;
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    const std::uint64_t seed = new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const int kills = test_operations(0) >= 1'000'000 ? 500 : 15; // more in a soak
    const auto begin = clock::now();
    REQUIRE(replaying_process(log, "undisturbed").code() == 0);
    const auto longest = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin).count());
    std::uint64_t looks = 0;
    std::string state = "state";
    for (int killed = 0; killed < kills; state += ".") { // once more from the begin if too few were
        const auto folder = log.state(state);
        std::array<reader_process, 2> readers{reader_process(log, folder),
                                              reader_process(log, folder)};
        for (bool goes_on = true; goes_on; killed += goes_on ? 1 : 0) {
            const replaying_process replay(log, state);
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
            reader_process& other = readers[random.below(2)];
            other.kill(); // maybe while the replay waits for it
            if (killed < kills) replay.kill();
            other.start();
            const int code = replay.code();
            INFO("kill " << killed);
            REQUIRE((code == -1 || code == 0));
            goes_on = code != 0;
        }
        for (const reader_process& one : readers) {
            CHECK(one.torn() == 0);
            looks += one.looks();
        }
        const captured_log quiet;
        CHECK(chain_state(folder, chain, 0).model().state_digest() == digest_at_end(chain));
    }
    CHECK(looks > 0);
}

// --- the range for the time that is left ---

TEST_CASE("before there is enough to tell from, nothing is told") {
    time_left estimate;
    CHECK_FALSE(estimate.range(100));
    estimate.note(0, 0);
    estimate.note(0.4, 1000);
    CHECK_FALSE(estimate.range(100));
    estimate.note(0.6, 1000);
    CHECK(estimate.range(100));
}

TEST_CASE("without progress nothing is told, and nothing is ever negative") {
    time_left estimate;
    for (int i = 0; i < 100; ++i)
        estimate.note(i, 0);
    CHECK_FALSE(estimate.range(100));
    estimate.note(100, 50);
    const auto range = estimate.range(0);
    REQUIRE(range);
    CHECK(range->first == 0);
    CHECK(range->second == 0);
}

TEST_CASE("an even rate gives what is left at this rate, and the margin shrinks") {
    time_left estimate;
    for (int i = 0; i <= 300; ++i)
        estimate.note(i * 0.1, static_cast<std::uint64_t>(i) * 10);
    const auto range = estimate.range(1000);
    REQUIRE(range);
    CHECK(range->first == Approx(10));
    CHECK(in_words(*range) == "10 s to 13 s left");
    CHECK(range->second == Approx(10 * (1 + 1000. / 4000)));
    const auto nearly_done = estimate.range(1);
    REQUIRE(nearly_done);
    CHECK(nearly_done->second == Approx(nearly_done->first).epsilon(0.01));
}

TEST_CASE("a rate that falls gives a range from the fastest to the slowest") {
    time_left estimate;
    std::uint64_t done = 0;
    for (int i = 0; i <= 300; ++i) {
        estimate.note(i * 0.1, done);
        done += i < 200 ? 100 : 10; // 1000 a second, then 100
    }
    const auto range = estimate.range(1000);
    REQUIRE(range);
    CHECK(range->first == Approx(1000 / 700.).epsilon(0.05)); // over all
    CHECK(range->second == Approx(10 * 1.05).epsilon(0.05));  // of late
}

TEST_CASE("while nothing moves there is no upper end, and when it goes on there is one again") {
    time_left estimate;
    for (int i = 0; i <= 100; ++i)
        estimate.note(i * 0.1, static_cast<std::uint64_t>(i) * 100);
    const auto moving = estimate.range(1000);
    for (int i = 101; i <= 205; ++i)
        estimate.note(i * 0.1, 10'000);
    const auto still = estimate.range(1000);
    REQUIRE(still);
    CHECK(still->first >= moving->first);
    CHECK(std::isinf(still->second));
    CHECK(in_words(*still) == "at least 2 s left, no progress");
    estimate.note(21, 10'100);
    const auto again = estimate.range(1000);
    REQUIRE(again);
    CHECK_FALSE(std::isinf(again->second));
    CHECK(again->second >= still->first);
}

namespace {

struct recorded_sample {
    double seconds;
    std::uint64_t block;
};

/// Replays of a generated log of ten million operations, a line a second: on two processors, and
/// with both threads on one that others used as well. Cash-outs begin after a while and the state
/// grows, so both become slower, the second one to a third of its rate.
const std::vector<recorded_sample> on_two_processors{
    {0.2, 1536},    {1.2, 31383},   {2.2, 48785},  {3.2, 66396},  {4.2, 83096},
    {5.2, 95829},   {6.2, 109480},  {7.3, 122939}, {8.3, 137663}, {9.3, 151851},
    {10.3, 164286}, {11.3, 179010}, {11.4, 181001}};
const std::vector<recorded_sample> on_a_busy_one{
    {0.2, 320},     {1.2, 10345},   {2.3, 19084},   {3.3, 27891},   {4.3, 34165},   {5.3, 41246},
    {6.4, 47124},   {7.4, 52508},   {8.4, 58804},   {9.4, 64696},   {10.5, 70213},  {11.5, 76092},
    {12.5, 82117},  {13.5, 88354},  {14.5, 93667},  {15.6, 99116},  {16.6, 104575}, {17.6, 109689},
    {18.7, 115291}, {19.7, 120645}, {20.7, 126035}, {21.7, 130905}, {22.8, 135706}, {23.8, 139601},
    {24.8, 143521}, {25.9, 147479}, {26.9, 150820}, {27.9, 154047}, {29.0, 157054}, {30.1, 160367},
    {31.1, 163555}, {32.2, 166722}, {33.2, 170118}, {34.3, 173851}, {35.3, 177884}, {36.2, 181001}};

} // namespace

TEST_CASE("in recorded runs the range holds what came, but for little, and never jumps") {
    const auto run = GENERATE(on_two_processors, on_a_busy_one);
    time_left estimate;
    estimate.note(0, 0);
    double longest_before = 0;
    for (const auto& [seconds, block] : run) {
        estimate.note(seconds, block);
        const auto range = estimate.range(run.back().block - block);
        if (seconds < 1) continue;
        REQUIRE(range);
        const double came = run.back().seconds - seconds;
        INFO("at " << seconds << " s: " << range->first << " to " << range->second << ", came "
                   << came);
        CHECK(range->first >= 0);
        CHECK(range->first <= range->second);
        CHECK(range->first <= came + 0.1);
        CHECK(range->second >= 0.8 * came);
        if (longest_before > 0) CHECK(range->second <= 1.5 * longest_before);
        longest_before = range->second;
    }
}
