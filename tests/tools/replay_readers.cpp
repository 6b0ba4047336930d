#include <archive/open_archive.hpp>
#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/bookkeeping.hpp>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <thread>

/// Processes that read a state beside the driver that replays into it, while either is killed.
using namespace chainbase;
using namespace chainbase::test;

namespace {

struct looks {
    std::atomic<std::uint64_t> made{0};
    std::atomic<std::uint64_t> torn{0};
    std::atomic<std::uint64_t> head{0};
};

/// Another process that holds every block it sees against what the chain's books say must be so
/// between blocks.
class reader_process {
public:
    reader_process(const real_log& log, std::string state) : log_(log), state_(std::move(state)) {
        void* at =
            mmap(nullptr, sizeof(looks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        seen_ = {new (at) looks, [](looks* one) { munmap(one, sizeof *one); }};
        start();
    }
    ~reader_process() { kill(); }
    reader_process(const reader_process&) = delete;
    reader_process& operator=(const reader_process&) = delete;

    void start() {
        seen_->head = 0;
        process_ = fork();
        if (process_ != 0) return;
        for (;;)
            look_until_refused();
    }
    void kill() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
        process_ = 0;
    }
    [[nodiscard]] const looks& seen() const { return *seen_; }

private:
    /// A state that is not there yet, or whose writer died and has no successor, is no failure.
    void look_until_refused() {
        try {
            open_options how;
            how.mode = open_mode::read_only;
            how.wait_for_writer = std::chrono::minutes(5);
            database state(log_.state(state_), how);
            state.add_type<driver::applied_block>("applied_block");
            archive::none_store rows;
            const auto model = make_chain_model(log_.chain(), state, rows);
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
        ++seen_->made;
    }

    const real_log& log_;
    std::string state_;
    std::shared_ptr<looks> seen_;
    pid_t process_ = 0;
};

std::chrono::microseconds duration_of(const real_log& log) {
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(run_driver(log.replay({}, "undisturbed")).code() == 0);
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                 begin);
}

/// A soak kills a thousand times.
int kills() {
    return test_operations(0) >= 1'000'000 ? 500 : 15;
}

} // namespace

TEST_CASE(
    "killed again and again beside readers that are killed, a replay comes to the same state") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const auto longest = static_cast<std::uint32_t>(duration_of(log).count());
    std::uint64_t looks_made = 0;
    std::string state = "state";
    for (int killed = 0; killed < kills();) {
        std::array<std::unique_ptr<reader_process>, 2> readers;
        for (auto& one : readers)
            one = std::make_unique<reader_process>(log, state);
        for (bool goes_on = true; goes_on;) {
            driver_process replay(log.replay({"--verify", "--checkpoint-interval", "0.05"}, state));
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
            reader_process& other = *readers[random.below(2)];
            other.kill(); // maybe while the replay waits for it
            if (killed < kills()) replay.send(SIGKILL);
            other.start();
            const driver_run run = replay.wait();
            INFO("kill " << killed << ", stderr: " << run.err);
            REQUIRE((run.was_killed() || run.code() == 0));
            goes_on = run.code() != 0;
            if (goes_on)
                ++killed;
            else
                CHECK(run.json()["state_digest"] == digest_at_end(chain));
        }
        for (const auto& one : readers) {
            CHECK(one->seen().torn == 0);
            looks_made += one->seen().made;
        }
        state += "."; // once more from the begin, if too few were killed
    }
    CHECK(looks_made > 0);
}
