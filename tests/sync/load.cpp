/// Readers and senders in other threads, while one thread does all the work of a node; and the
/// arithmetic of measurements, on known inputs.

#include <tools/driver/live/load_generator.hpp>
#include <tools/driver/live/load_recorder.hpp>
#include <tools/driver/live/readers.hpp>

#include <catch2/catch.hpp>
#include <tests/sync/payments_chains.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using namespace driver::live;
using payments::payment;
using std::chrono::milliseconds;

namespace {

/// Checks repeatedly that a reader under the lock sees a state after whole transactions.
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

TEST_CASE("quantiles are those of a sorted list, to the width of a bucket") {
    const std::uint64_t seed = test_seed(3);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    std::vector<std::int64_t> all;
    latencies seen, rest;
    for (int i = 0; i < 20'000; ++i) {
        const auto ns = static_cast<std::int64_t>(random.next() >> (24 + random.below(39)));
        all.push_back(ns);
        (i % 2 == 0 ? seen : rest).record(nanoseconds(ns));
    }
    seen.add(rest);
    std::ranges::sort(all);
    REQUIRE(seen.count() == all.size());
    CHECK(seen.longest().count() == all.back());
    for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto at = static_cast<std::size_t>(std::ceil(share * 20'000)) - 1;
        CHECK(seen.quantile(share).count() >= all[at]);
        CHECK(seen.quantile(share).count() <= all[at] + all[at] / 64 + 1);
        const auto up_to =
            static_cast<std::size_t>(std::ranges::upper_bound(all, all[at]) - all.begin());
        CHECK(seen.up_to(nanoseconds(all[at])) >= up_to);
        CHECK(seen.up_to(nanoseconds(all[at])) <= up_to + 20'000 / 20);
    }
}

TEST_CASE("without any latency all quantiles are 0, and nothing is ever negative") {
    latencies none;
    CHECK(none.quantile(0.99).count() == 0);
    CHECK(none.up_to(milliseconds(1)) == 0);
    none.record(nanoseconds(-5));
    CHECK(none.quantile(1).count() == 0);
    CHECK(none.up_to(nanoseconds(0)) == 1);
    CHECK(none.up_to(nanoseconds(-1)) == 0);
    none.record(nanoseconds(INT64_MAX));
    CHECK(none.quantile(1).count() == INT64_MAX);
}

TEST_CASE("rates rise by a step or by a factor, up to the last") {
    const load_steps added{100, 50, 1, 210};
    CHECK(added.after(100) == 150.);
    CHECK(added.after(150) == 200.);
    CHECK_FALSE(added.after(200));
    CHECK(load_steps{100, 0, 2, 1e9}.after(100) == 200.);
    CHECK_FALSE(load_steps{100, 0, 1, 1e9}.after(100));
}

TEST_CASE("a rate is sustained while blocks keep to their interval and half are in time") {
    const load_criterion criterion{milliseconds(100)};
    CHECK(criterion.in_time() == milliseconds(200));
    load_step step;
    step.offered = 1000;
    step.in_time = 500;
    step.blocks.record(milliseconds(100));
    CHECK(criterion.judge(step).empty());
    step.in_time = 499;
    CHECK(criterion.judge(step) ==
          "499 of 1000 transactions were in a block within 200.0 ms, less than half");
    step.blocks.record(milliseconds(101));
    CHECK(criterion.judge(step) == "a block took 101.0 ms, of 100.0 ms between blocks");
}

TEST_CASE("the recorder counts what is in blocks, and in time, from when it was due") {
    payments_node chain;
    readers nobody(chain.state, {0, 0});
    load_recorder recorder(nobody, {milliseconds(100)});
    recorder.begin_step(7);
    recorder.offered() += 5;
    const auto due = clock::now();
    const auto ns = [&](milliseconds before) { return (due - before).time_since_epoch().count(); };
    made_block one;
    one.included = {
        {0, 0, ns(milliseconds(10))}, {0, 1, ns(milliseconds(150))}, {0, 2, ns(milliseconds(500))}};
    recorder.note(std::move(one), due, due + milliseconds(40));
    made_block two;
    two.rejected = 1;
    two.included = {{0, 0, ns(milliseconds(0))}};
    recorder.note(std::move(two), due, due + milliseconds(60));
    const load_step step = recorder.end_step();
    CHECK(step.rate == 7);
    CHECK(step.offered == 5);
    CHECK(step.completed == 4);
    CHECK(step.in_time == 3);
    CHECK(step.rejected == 1);
    CHECK(step.transactions.longest() == milliseconds(540));
    CHECK(step.blocks.count() == 2);
    CHECK(step.blocks.longest() == milliseconds(60));
    std::uint64_t completed = 0, offered = 0;
    for (const load_second& second : recorder.seconds()) {
        completed += second.completed;
        offered += second.offered;
        CHECK(second.resident_bytes >= second.shared_bytes);
        CHECK(second.shared_bytes > 0);
    }
    CHECK(completed == 4);
    CHECK(offered == 5);
    recorder.begin_step(8);
    CHECK(recorder.end_step().completed == 0);
}

TEST_CASE("a short last piece of a rate joins the second before it") {
    const auto piece = [](double begin, double length, double rate, std::uint64_t completed) {
        load_second one;
        one.begin = begin;
        one.length = length;
        one.rate = rate;
        one.offered = one.completed = one.pending = completed;
        one.transactions.record(milliseconds(completed));
        return one;
    };
    std::vector<load_second> all;
    append(all, piece(0, 1, 100, 100));
    append(all, piece(1, 0.02, 100, 40));   // a block: 2,000 a second by itself
    append(all, piece(1.02, 0.05, 200, 5)); // another rate
    append(all, piece(1.07, 0.5, 200, 100));
    REQUIRE(all.size() == 3);
    CHECK(all[0].length == Approx(1.02));
    CHECK(all[0].completed == 140);
    CHECK(all[0].offered == 140);
    CHECK(all[0].pending == 40);
    CHECK(all[0].transactions.count() == 2);
    CHECK(all[1].begin == Approx(1.02));
    CHECK(all[2].completed == 100);
}
