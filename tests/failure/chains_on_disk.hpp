#pragma once

#include <pool_allocator/error.hpp>

#include <spdlog/spdlog.h>
#include <tests/support/chain_model.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/simulated_disk.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Chains whose checkpoints are on a disk that a test has in its hands.
namespace chainbase::test {

/// Nothing is logged while it lives: failures are what the test is about.
class quiet_log {
public:
    quiet_log() { spdlog::set_level(spdlog::level::off); }
    quiet_log(const quiet_log&) = delete;
    quiet_log& operator=(const quiet_log&) = delete;
    ~quiet_log() { spdlog::set_level(spdlog::level::warn); }
};

class quietly_seeded : protected quiet_log, protected seeded {};

/// Runs `restore` while the folder `state` is out of the way and nothing in its place (a disk knows
/// files by their paths). Returns what an exception of the engine said; throws mismatch on.
template <typename Restore>
std::string in_place_of(const std::filesystem::path& state, Restore restore) {
    const std::filesystem::path away = state.parent_path() / "away";
    std::filesystem::rename(state, away);
    std::string refusal;
    std::optional<mismatch> problem;
    try {
        restore();
    } catch (const mismatch& e) {
        problem = e;
    } catch (const error& e) {
        refusal = e.what();
    }
    std::filesystem::remove_all(state);
    std::filesystem::rename(away, state);
    if (problem) throw *problem;
    return refusal;
}

/// What a checkpoint is to hold.
struct stand {
    std::uint64_t digest;
    revision_number revision;
    revision_number committed;

    bool operator==(const stand&) const = default;
};

/// A chain whose state is in checkpoints of a disk that a test has in its hands.
class checkpointed_chain {
public:
    checkpointed_chain(std::uint64_t seed, const checkpoint::rhythm& when)
        : seed_(seed), when_(when) {
        chain_.emplace(state(), seed, options_on(disk, when));
    }

    static chain_options options_on(simulated_disk& on, const checkpoint::rhythm& when) {
        chain_options options;
        options.how.promise = durability::checkpoint;
        options.how.checkpoints = when;
        options.how.checkpoint_disk = &on;
        return options;
    }
    static checkpoint::rhythm when_asked() { return {std::chrono::milliseconds(0), 0}; }

    void apply(std::uint64_t steps = 1) {
        for (; steps > 0; --steps)
            chain_->apply(steps_++);
    }
    /// Throws what the checkpoint throws; then it may be there all the same, and the next one has
    /// its number or, by another process, a higher one.
    void make_checkpoint() {
        const stand now{digest_of(db()), db().revision(), db().committed_revision()};
        for (std::uint64_t next = 1; next <= 3; ++next)
            expected[promised + next].push_back(now);
        promised = db().make_checkpoint().generation;
        expected[promised] = {now};
    }
    /// As a kill, but for the checkpoint under way, which is finished.
    void abandon() { db().abandon(); }
    /// By another process, after this one was killed.
    void reopen() {
        abandon();
        chain_.reset();
        chain_.emplace(state(), seed_, options_on(disk, when_));
    }
    /// Which makes a checkpoint.
    void close_and_reopen() {
        expected[++promised] = {{digest_of(db()), db().revision(), db().committed_revision()}};
        db().close();
        chain_.reset();
        chain_.emplace(state(), seed_, options_on(disk, when_));
    }
    [[nodiscard]] database& db() { return chain_->state().db(); }
    [[nodiscard]] std::filesystem::path state() const { return folder_ / "state"; }

    /// What is restored from `from` while this chain is out of its folder (the disk knows files by
    /// their paths). Throws mismatch when it is no checkpoint that was made.
    std::uint64_t restored_from(simulated_disk& from, std::string* why = nullptr) const {
        std::uint64_t generation = 0;
        const std::string refusal = in_place_of(state(), [&] {
            const world restored(state(),
                                 {.verify = false, .how = options_on(from, when_asked()).how});
            const opening& opened = restored.db().opened();
            generation = opened.generation;
            if (why) *why = opened.why;
            if (generation != 0) expect_one_of(expected.at(generation), restored.db());
        });
        if (why && !refusal.empty()) *why = refusal;
        return generation;
    }

    /// Restores from `on` in place of this chain, is killed, opens what is left, and makes a
    /// checkpoint, which is restored. Throws mismatch when that is not what was checkpointed.
    opening checkpointed_again(simulated_disk& on) const {
        const auto how = options_on(on, when_asked()).how;
        opening result;
        const std::string refusal = in_place_of(state(), [&] {
            world(state(), {.verify = false, .how = how}).db().abandon();
            std::uint64_t digest = 0;
            {
                world killed(state(), {.verify = false, .how = how});
                killed.db().make_checkpoint();
                digest = digest_of(killed.db());
                killed.db().abandon();
            }
            std::filesystem::remove_all(state() / "segment");
            const world restored(state(), {.verify = false, .how = how});
            result = restored.db().opened();
            expect(digest_of(restored.db()) == digest, "what was checkpointed");
        });
        expect(refusal.empty(), refusal);
        return result;
    }

    simulated_disk disk;
    /// By generation: of one that was made the last, of one that failed all attempts.
    std::map<std::uint64_t, std::vector<stand>> expected;
    std::uint64_t promised = 0; ///< the last one that was made

private:
    static void expect_one_of(const std::vector<stand>& all, const database& restored) {
        const stand now{digest_of(restored), restored.revision(), restored.committed_revision()};
        if (std::ranges::count(all, now) == 0)
            throw mismatch("restored revision " + std::to_string(now.revision) +
                           " with objects that are in no checkpoint of this generation");
        check_keys_of(restored);
    }

    scratch_folder folder_;
    std::uint64_t seed_;
    checkpoint::rhythm when_;
    std::optional<chain_model> chain_;
    std::uint64_t steps_ = 0;
};

/// A chain with durability::commit on a disk that a test has in its hands, and what every step of
/// it comes to.
class durable_chain {
public:
    /// Checkpoints every so many blocks; 0: only when one is needed.
    durable_chain(std::uint64_t seed, std::uint64_t steps, std::uint64_t blocks = 0)
        : seed_(seed), blocks_(blocks) {
        chain_model reference(folder_ / "reference", seed);
        const auto add = [&] {
            const database& db = reference.state().db();
            stands_.push_back({digest_of(db), db.revision(), db.committed_revision()});
        };
        add();
        for (std::uint64_t step = 0; step < steps; ++step) {
            reference.apply(step);
            add();
        }
        open();
    }

    [[nodiscard]] chain_options options_on(simulated_disk& on) const {
        chain_options options;
        options.how.promise = durability::commit;
        options.how.checkpoints = {std::chrono::milliseconds(0), blocks_};
        options.how.checkpoint_disk = &on;
        return options;
    }

    /// Each step ends with a block that is pushed, or in another way.
    void apply(std::uint64_t steps = 1) {
        for (; steps > 0; --steps) {
            const revision_number before = db().revision();
            chain_->apply(steps_);
            ++steps_;
            if (db().revision() > before) pushed_ = steps_.load();
        }
    }
    void wait_until_durable() {
        const std::uint64_t pushed = pushed_;
        db().wait_until_durable();
        durable_ = pushed;
    }
    /// By another process, after this one was killed.
    void reopen() {
        db().abandon();
        chain_.reset();
        open();
    }
    void close() { db().close(); }
    [[nodiscard]] database& db() { return chain_->state().db(); }
    [[nodiscard]] chain_model& model() { return *chain_; }
    [[nodiscard]] std::filesystem::path state() const { return folder_ / "state"; }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] std::uint64_t durable() const { return durable_; }

    struct found {
        std::optional<std::uint64_t> step; ///< the last one that it can be; none: refused
        opening opened;
        std::string refusal;
    };
    /// What is restored from `from` while this chain is out of its folder (the disk knows files by
    /// their paths). Throws mismatch when it is nothing that the chain ever came to.
    found restored_from(simulated_disk& from) const {
        found result;
        result.refusal = in_place_of(state(), [&] {
            const world restored(state(), {.verify = false, .how = options_on(from).how});
            result.opened = restored.db().opened();
            if (result.opened.how != opening::way::restored) return;
            result.step = step_of(restored.db());
            check_keys_of(restored.db());
        });
        return result;
    }
    /// After a loss of power: at least what was durable.
    found restored_after_a_loss(random_source& random) const {
        const std::uint64_t least = durable_; // first: other threads go on
        simulated_disk after(disk);
        after.lose_power(random);
        found result = restored_from(after);
        expect(least == 0 || result.step.value_or(0) >= least,
               "restored step " + std::to_string(result.step.value_or(0)) + " in place of " +
                   std::to_string(least) + ": " + result.opened.why + result.refusal);
        return result;
    }

    simulated_disk disk;

private:
    void open() { chain_.emplace(state(), seed_, options_on(disk)); }
    [[nodiscard]] std::uint64_t step_of(const database& db) const {
        const std::uint64_t digest = digest_of(db);
        for (std::uint64_t step = stands_.size(); step-- > 0;) {
            const stand& one = stands_[step];
            if (one.digest != digest || one.revision != db.revision()) continue;
            expect(db.committed_revision() <= one.committed, "what was committed later");
            return step;
        }
        throw mismatch("restored revision " + std::to_string(db.revision()) +
                       " with objects that it never had");
    }

    scratch_folder folder_;
    std::uint64_t seed_;
    std::uint64_t blocks_;
    std::vector<stand> stands_; ///< after so many steps
    std::optional<chain_model> chain_;
    std::atomic<std::uint64_t> steps_ = 0;
    std::uint64_t pushed_ = 0; ///< steps up to the last block that was
    std::atomic<std::uint64_t> durable_ = 0;
};

} // namespace chainbase::test
