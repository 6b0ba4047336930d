#include <tools/driver/live/load_generator.hpp>
#include <tools/driver/live/readers.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/live_support.hpp>

#include <atomic>
#include <thread>

/// Readers in other threads, while one thread does all that a node does.
using namespace chainbase;
using namespace chainbase::test;
using namespace driver::live;
using payments::payment;

namespace {

/// Whether what a reader sees under the lock is a state after whole transactions, again and again.
class watchers {
public:
    explicit watchers(database& state) {
        for (std::thread& one : threads_)
            one = std::thread([this, &state] {
                while (!stopping_) {
                    state.with_read_lock([&] { look(state); });
                    std::this_thread::yield();
                }
            });
    }
    ~watchers() { stop(); }
    void stop() {
        stopping_ = true;
        for (std::thread& one : threads_)
            if (one.joinable()) one.join();
    }
    [[nodiscard]] bool saw_a_torn_state() const { return torn_; }
    [[nodiscard]] std::uint64_t looks() const { return looks_; }

private:
    void look(const database& state) {
        std::int64_t held = 0;
        std::uint64_t sent = 0, received = 0;
        for (const auto& one : state.objects<payments::account_object>()) {
            held += one.balance;
            sent += one.sent;
            received += one.received;
        }
        if (held != 110 || sent != received) torn_ = true;
        ++looks_;
    }

    std::atomic<bool> stopping_{false};
    std::atomic<bool> torn_{false};
    std::atomic<std::uint64_t> looks_{0};
    std::thread threads_[2];
};

} // namespace

TEST_CASE("readers see states after whole transactions only, and blocks as a whole") {
    random_source random(test_seed(5));
    payments_node chain(5, {{7}, 500, 50});
    watchers watching(chain.state.state());
    for (int round = 0; round < 300 || watching.looks() < 3000; ++round) {
        std::vector<payments::operation> some;
        for (std::uint32_t i = random.below(200); i > 0; --i)
            some.push_back(payment{"alice", "bob", 1 + random.below(3)});
        for (std::uint32_t i = random.below(200); i > 0; --i)
            some.push_back(payment{"bob", "alice", 1 + random.below(3)});
        chain.send(some);
        chain.work();
        if (random.below(3) == 0) {
            chain.node.drop();
            const bool has_money = chain.balance("alice") > 0;
            const auto next = chain.decoded(
                {has_money ? payment{"alice", "bob", 1} : payment{"bob", "alice", 1}});
            chain.node.apply(*next);
            if (random.below(2) == 0) chain.node.pop(next);
        } else {
            static_cast<void>(chain.node.make_block(chain.state.head_time() + 1));
        }
    }
    watching.stop();
    CHECK_FALSE(watching.saw_a_torn_state());
    CHECK(watching.looks() > 0);
}

TEST_CASE("readers that ask as an API is asked get their answers beside a node at work") {
    payments_node chain;
    readers asking(chain.state, {2, 0});
    latencies seen;
    while (seen.count() < 500) {
        chain.send({payment{"alice", "bob", 1}, payment{"bob", "alice", 1}});
        chain.work();
        static_cast<void>(chain.node.make_block(chain.state.head_time() + 1));
        seen.add(asking.take());
    }
    asking.stop();
    CHECK(seen.quantile(0.5) <= seen.longest());
    chain.state.model().check();
}

TEST_CASE("a generator sends at its rate, each transaction with the time at which it was due") {
    const auto sent = make_payments_workload(10, 1);
    sent->prepare(500, 0, catch_interruption());
    arrivals queue(100'000);
    std::atomic<std::uint64_t> offered{0};
    const auto begin = clock::now();
    load_generator generator(*sent, queue, 10'000, begin, begin + std::chrono::milliseconds(150),
                             offered);
    std::vector<parcel> all;
    std::uint64_t came = 0;
    while (came < 1500) {
        queue.wait(clock::now() + std::chrono::milliseconds(20));
        all.clear();
        queue.take(all);
        for (const parcel& one : all) {
            CHECK(one.due - begin == nanoseconds(came * 100'000));
            CHECK(one.apart == nanoseconds(100'000));
            came += one.count;
        }
    }
    generator.stop();
    CHECK(came == 1500);
    CHECK(offered == 1500);
}
