#pragma once

#include <pool_allocator/base/error.hpp>

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

/// Chains whose checkpoints are on a simulated disk.
namespace chainbase::test {

/// Disables logging while it lives: the tests provoke failures.
class quiet_log {
public:
    quiet_log() { spdlog::set_level(spdlog::level::off); }
    quiet_log(const quiet_log&) = delete;
    quiet_log& operator=(const quiet_log&) = delete;
    ~quiet_log() { spdlog::set_level(spdlog::level::warn); }
};

class quietly_seeded : protected quiet_log, protected seeded {};

/// Runs `restore` while the folder `state` is moved away (a disk identifies files by path). Returns
/// the message of an engine's exception; passes mismatch on.
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

/// The expected content of a checkpoint.
struct state_summary {
    std::uint64_t digest;
    revision_number revision;
    revision_number committed;

    bool operator==(const state_summary&) const = default;
};

/// A chain whose state is in checkpoints on a simulated disk.
class checkpointed_chain {
public:
    checkpointed_chain(std::uint64_t seed, const checkpoint::schedule& when)
        : seed_(seed), when_(when) {
        chain_.emplace(state(), seed, options_on(disk, when));
    }

    static chain_options options_on(simulated_disk& on, const checkpoint::schedule& when) {
        chain_options options;
        options.how.durability = durability::checkpoint;
        options.how.checkpoints = when;
        options.how.checkpoint_disk = &on;
        return options;
    }
    static checkpoint::schedule when_asked() { return {std::chrono::milliseconds(0), 0}; }

    void apply(std::uint64_t steps = 1) {
        for (; steps > 0; --steps)
            chain_->apply(steps_++);
    }
    /// Throws what the checkpoint throws; it may exist all the same, and the next one then has its
    /// number or, in another process, a higher one.
    void make_checkpoint() {
        const state_summary now{digest_of(db()), db().revision(), db().committed_revision()};
        for (std::uint64_t next = 1; next <= 3; ++next)
            expected[promised + next].push_back(now);
        promised = db().make_checkpoint().generation;
        expected[promised] = {now};
    }
    /// As a kill, but the checkpoint in progress is completed.
    void abandon() { db().abandon(); }
    /// In another process, after a kill.
    void reopen() {
        abandon();
        chain_.reset();
        chain_.emplace(state(), seed_, options_on(disk, when_));
    }
    /// Makes a checkpoint.
    void close_and_reopen() {
        expected[++promised] = {{digest_of(db()), db().revision(), db().committed_revision()}};
        db().close();
        chain_.reset();
        chain_.emplace(state(), seed_, options_on(disk, when_));
    }
    [[nodiscard]] database& db() { return chain_->state().db(); }
    [[nodiscard]] std::filesystem::path state() const { return folder_ / "state"; }

    /// Restores from `from` while this chain is moved out of its folder (the disk identifies files
    /// by path). Throws mismatch when the result is no checkpoint that was made.
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

    /// Restores from `on` in place of this chain, kills, reopens, makes a checkpoint, and restores
    /// that. Throws mismatch when it differs from what was checkpointed.
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
    /// by generation: the last one made, and those that failed all attempts
    std::map<std::uint64_t, std::vector<state_summary>> expected;
    std::uint64_t promised = 0; ///< generation of the last successful one

private:
    static void expect_one_of(const std::vector<state_summary>& all, const database& restored) {
        const state_summary now{digest_of(restored), restored.revision(),
                                restored.committed_revision()};
        if (std::ranges::count(all, now) == 0)
            throw mismatch("restored revision " + std::to_string(now.revision) +
                           " with objects that are in no checkpoint of this generation");
        check_keys_of(restored);
    }

    scratch_folder folder_;
    std::uint64_t seed_;
    checkpoint::schedule when_;
    std::optional<chain_model> chain_;
    std::uint64_t steps_ = 0;
};

/// A chain with durability::commit on a simulated disk, and the expected state after every step.
class durable_chain {
public:
    /// Makes checkpoints every so many blocks; 0: only when one is needed.
    durable_chain(std::uint64_t seed, std::uint64_t steps, std::uint64_t blocks = 0)
        : seed_(seed), blocks_(blocks) {
        chain_model reference(folder_ / "reference", seed);
        const auto add = [&] {
            const database& db = reference.state().db();
            summaries_.push_back({digest_of(db), db.revision(), db.committed_revision()});
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
        options.how.durability = durability::commit;
        options.how.checkpoints = {std::chrono::milliseconds(0), blocks_};
        options.how.checkpoint_disk = &on;
        return options;
    }

    /// Applies steps, the last of which may be other than a pushed block.
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
    /// In another process, after a kill.
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
        std::optional<std::uint64_t> step; ///< the last possible one; nothing: refused
        opening opened;
        std::string refusal;
    };
    /// Restores from `from` while this chain is moved out of its folder (the disk identifies files
    /// by path). Throws mismatch when the result is no state of the chain.
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
    /// After a power loss: requires at least the durable blocks.
    found restored_after_a_loss(random_source& random) const {
        const std::uint64_t least = durable_; // read first: other threads continue
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
        for (std::uint64_t step = summaries_.size(); step-- > 0;) {
            const state_summary& one = summaries_[step];
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
    std::vector<state_summary> summaries_; ///< after so many steps
    std::optional<chain_model> chain_;
    std::atomic<std::uint64_t> steps_ = 0;
    std::uint64_t pushed_ = 0; ///< steps up to the last pushed block
    std::atomic<std::uint64_t> durable_ = 0;
};

} // namespace chainbase::test
