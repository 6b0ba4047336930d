// Snapshots hold every byte that the state had at their block, whatever the writer does meanwhile.

#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/snapshots/snapshot_oracle.hpp>
#include <tests/support/block_walk.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/operation_sequence.hpp>
#include <tests/support/world.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// What snapshots were good for.
struct outcomes {
    std::uint64_t whole = 0;
    std::uint64_t renewed = 0;
    std::uint64_t too_old = 0;
};

open_options reading() {
    return quick_options(open_mode::read_only);
}

/// A snapshot that is read bit by bit, beside what it has to be.
class held_snapshot {
public:
    held_snapshot(const std::filesystem::path& state, test::snapshot expected)
        : segment_(state, reading()), expected_(std::move(expected)) {}

    [[nodiscard]] snapshot_segment& segment() noexcept { return segment_; }
    /// Touches a page anywhere.
    void touch(random_source& random) {
        std::vector<const window*> files;
        segment_.each_window([&](const window& file) { files.push_back(&file); });
        const window& file = *files[random.below(static_cast<std::uint32_t>(files.size()))];
        const std::size_t at = random.below(static_cast<std::uint32_t>(file.bytes()));
        chainbase::detail::guarded([&] { chainbase::detail::touch(file.base() + at, 1); });
    }
    void renew(test::snapshot expected, std::uint64_t most_bytes) {
        expect(segment_.renew(most_bytes), "not renewed");
        expected_ = std::move(expected);
    }
    void check() {
        const test::snapshot found = bytes_of(segment_);
        if (!(found == expected_))
            throw mismatch("the snapshot differs: " + found.difference(expected_));
    }

private:
    snapshot_segment segment_;
    test::snapshot expected_;
};

/// Random steps, among which snapshots are taken, touched and compared with what the state was.
void walk(std::uint64_t seed, std::uint64_t operations, walk_options options, outcomes& seen) {
    check_random_operations(seed, operations, [&](operation_sequence& steps) {
        const scratch_folder folder;
        options.changes.tell = steps.tell();
        options.deep_every = UINT64_MAX;
        options.refusals_watched = 0;
        world w(folder / "state", options);
        random_source random(seed);
        block_key newest{};
        std::optional<test::snapshot> expected;
        std::vector<std::unique_ptr<held_snapshot>> held;
        while (steps.next(random)) {
            w.step(random);
            if (const block_key now = newest_block(w.db().memory()); now != newest) {
                newest = now;
                expected.emplace(w.db().memory());
            }
            if (held.size() < 12 && random.chance(30)) {
                held.push_back(std::make_unique<held_snapshot>(folder / "state", *expected));
                expect(block_of(held.back()->segment()) == newest, "another block");
            }
            if (held.empty()) continue;
            const std::size_t which = random.below(static_cast<std::uint32_t>(held.size()));
            const bool is_end = random.chance(20);
            try {
                if (random.chance(200)) held[which]->touch(random);
                if (random.chance(60)) {
                    held[which]->renew(*expected, random.chance(100) ? 0 : UINT64_MAX);
                    expect(block_of(held[which]->segment()) == newest, "not the newest block");
                    ++seen.renewed;
                    if (random.chance(300)) held[which]->check();
                }
                if (!is_end) continue;
                held[which]->check();
                ++seen.whole;
            } catch (const too_old_error&) {
                ++seen.too_old;
            }
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
    });
}

} // namespace

TEST_CASE("snapshots hold what the state was, under random changes and sessions") {
    outcomes seen;
    std::uint64_t seed = test_seed(700);
    for (const std::uint32_t objects : {5, 40, 300})
        walk(seed++, test_operations(30'000) / 3,
             {.changes = {.objects = objects, .spread = 10}, .max_depth = 6}, seen);
    WARN(seen.whole << " whole, " << seen.renewed << " renewed, " << seen.too_old << " too old");
    CHECK(seen.whole > test_operations(30'000) / 300);
    CHECK(seen.renewed > test_operations(30'000) / 300);
    CHECK(seen.too_old > 10);
}

TEST_CASE("readers in other threads see whole snapshots while the state changes") {
    const scratch_folder folder;
    const std::uint64_t seed = test_seed(800);
    random_source random(seed);
    walk_options options;
    options.changes = {.objects = 60, .spread = 10};
    options.verify = false;
    options.deep_every = UINT64_MAX;
    options.refusals_watched = 0;
    world w(folder / "state", options);
    w.fill(random);

    std::mutex mutex;
    std::map<block_key, std::uint64_t> expected; ///< digests
    std::vector<std::string> wrong;
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> whole{0}, renewed{0}, too_old{0}, busy{0};
    const auto read = [&] {
        std::unique_ptr<snapshot_segment> taken;
        for (unsigned turns = 0; !is_over; ++turns) {
            try {
                if (taken && turns % 8 != 0 && taken->renew(UINT64_MAX))
                    ++renewed;
                else
                    taken = std::make_unique<snapshot_segment>(folder / "state", reading());
                const std::uint64_t digest = bytes_of(*taken).digest();
                const block_key block = block_of(*taken);
                for (bool is_known = false; !is_known && !is_over; std::this_thread::yield()) {
                    const std::lock_guard alone(mutex);
                    const auto found = expected.find(block);
                    if (!(is_known = found != expected.end())) continue;
                    if (found->second == digest)
                        ++whole;
                    else
                        wrong.push_back("revision " + std::to_string(taken->block().revision));
                }
            } catch (const too_old_error&) {
                ++too_old;
                taken.reset();
            } catch (const busy_error&) {
                ++busy;
                taken.reset();
            } catch (const error& e) {
                const std::lock_guard alone(mutex);
                wrong.push_back(e.what());
            }
        }
    };
    const auto note = [&] {
        const block_key now = newest_block(w.db().memory());
        const std::lock_guard alone(mutex);
        if (!expected.contains(now))
            expected.emplace(now, test::snapshot(w.db().memory()).digest());
    };
    note();
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back(read);
    // Sessions as a chain has them: blocks, of which some are popped, and transactions on top.
    const std::uint64_t steps = test_operations(30'000) / 10;
    const auto are_enough = [&] { // of what the readers have seen, too
        const std::lock_guard alone(mutex);
        return whole > 20 || !wrong.empty();
    };
    for (std::uint64_t step = 0; step < steps || !are_enough(); ++step) {
        apply_block(w, random, note);
    }
    is_over = true;
    for (std::thread& reader : readers)
        reader.join();
    WARN("seed " << seed << ": " << whole << " whole, " << renewed << " renewed, " << too_old
                 << " too old, " << busy << " busy");
    INFO((wrong.empty() ? "" : wrong.front()));
    CHECK(wrong.empty());
    CHECK(renewed > 0);
}
