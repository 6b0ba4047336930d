// Keys that are looked up in many threads, as in a process that waits for the disk.

#include <chainbase/database.hpp>
#include <chainbase/find_together.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/disk_pages.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <ranges>
#include <set>
#include <span>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct assumed_misses {
    assumed_misses() { disk_pages::assume_misses(true); }
    ~assumed_misses() { disk_pages::assume_misses(false); }
    assumed_misses(const assumed_misses&) = delete;
    assumed_misses& operator=(const assumed_misses&) = delete;
};

/// Stands in for a view: finds for each key the key itself, and knows who asked.
class counting_view {
public:
    static constexpr int fails = -1; ///< a key that throws

    template <std::ranges::random_access_range Keys>
    void find_many(const Keys& keys, std::span<const int*> found) const {
        ++busy_;
        {
            const std::lock_guard lock(mutex_);
            threads_.insert(std::this_thread::get_id());
            most_ = std::max(most_, static_cast<std::size_t>(std::ranges::size(keys)));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(4)); // so that others come
        bool failed = false;
        for (std::size_t i = 0; const int& key : keys) {
            failed = failed || key == fails;
            found[i++] = &key;
        }
        --busy_;
        if (failed) throw not_found_error("a key");
    }
    [[nodiscard]] std::size_t threads() const { return threads_.size(); }
    [[nodiscard]] std::size_t most() const { return most_; } ///< keys at once
    [[nodiscard]] int busy() const { return busy_; }

private:
    mutable std::mutex mutex_;
    mutable std::set<std::thread::id> threads_;
    mutable std::size_t most_ = 0;
    mutable std::atomic<int> busy_{0};
};

std::vector<int> numbers(std::size_t count) {
    std::vector<int> keys(count);
    for (std::size_t i = 0; i < count; ++i)
        keys[i] = static_cast<int>(i);
    return keys;
}

} // namespace

TEST_CASE("keys are looked up in threads exactly while the process waits for the disk") {
    const std::vector<int> keys = numbers(256);
    std::vector<const int*> found(keys.size());
    const auto look = [&](std::size_t count) {
        const counting_view view;
        std::ranges::fill(found, nullptr);
        find_together(view, std::span(keys).first(count), std::span(found));
        CHECK(view.busy() == 0);
        for (std::size_t i = 0; i < keys.size(); ++i)
            CHECK(found[i] == (i < count ? &keys[i] : nullptr));
        return std::pair(view.threads(), view.most());
    };
    CHECK(look(256) == std::pair<std::size_t, std::size_t>(1, 256));
    const assumed_misses now;
    CHECK(look(4) == std::pair<std::size_t, std::size_t>(1, 4)); // not worth it
    const auto [threads, most] = look(256);
    CHECK(threads > 8);
    CHECK(most == 8); // 32 parts
    for (const std::size_t count : {0U, 1U, 5U, 8U, 9U, 31U, 33U, 127U, 129U, 255U})
        look(count);
}

TEST_CASE("what a thread of find_together throws is thrown, when all are done") {
    const assumed_misses now;
    std::vector<int> keys = numbers(200);
    std::vector<const int*> found(keys.size());
    for (const std::size_t bad : {0U, 77U, 199U}) {
        CAPTURE(bad);
        keys[bad] = counting_view::fails;
        const counting_view view;
        CHECK_THROWS_AS(find_together(view, keys, std::span(found)), not_found_error);
        CHECK(view.busy() == 0);
        keys[bad] = 1;
        find_together(view, keys, std::span(found)); // the next call is none the worse
        for (std::size_t i = 0; i < keys.size(); ++i)
            CHECK(found[i] == &keys[i]);
    }
    const counting_view view;
    CHECK_THROWS_AS(
        find_together(one_type<card>().db.view<card, by_key>(), keys, std::span<const card*>()),
        usage_error);
}

TEMPLATE_TEST_CASE("find_together finds in threads what find does: missing keys, and one twice", "",
                   card, item) {
    const assumed_misses now;
    one_type<TestType> s;
    random_source random(test_seed(31));
    for (std::uint32_t key = 0; key < 2000; ++key)
        s.add(2 * key, key % 50);
    const auto check = [&]<typename Tag>(std::type_identity<Tag>, std::size_t count,
                                         std::uint32_t end) {
        std::vector<std::uint32_t> keys(count);
        for (std::uint32_t& key : keys)
            key = static_cast<std::uint32_t>(random.below(end));
        if (count > 9) keys[count - 1] = keys[9] = keys[0]; // in three threads
        std::vector<const TestType*> found(count);
        std::vector<const TestType*> in_order(count);
        const auto view = s.db.template view<TestType, Tag>();
        find_together(view, keys, std::span(found));
        view.find_many(keys, in_order);
        CHECK(found == in_order);
        for (std::size_t i = 0; i < count; ++i)
            CHECK(found[i] == (s.db.template find<TestType, Tag>(keys[i])));
        return std::ranges::count(found, nullptr);
    };
    for (const std::size_t count : {0U, 3U, 5U, 40U, 1000U}) {
        check(std::type_identity<by_key>(), count, 5000);
        check(std::type_identity<by_group>(), count, 60);
    }
    const auto missing = check(std::type_identity<by_key>(), 1000, 5000);
    CHECK(missing > 300);
    CHECK(missing < 900);
}

TEST_CASE("several threads of a program look up keys together") {
    const assumed_misses now;
    one_type<card> s;
    std::vector<std::uint32_t> keys;
    for (std::uint32_t key = 0; key < 500; ++key) {
        s.add(key);
        keys.push_back(key);
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            for (int times = 0; times < 20; ++times) {
                std::vector<const card*> found(keys.size());
                find_together(s.db.view<card, by_key>(), keys, std::span(found));
                for (std::size_t i = 0; i < keys.size(); ++i)
                    wrong += found[i] == nullptr || found[i]->key != keys[i];
            }
        });
    for (std::thread& each : threads)
        each.join();
    CHECK(wrong == 0);
}
