#pragma once

#include <tests/support/chain_model.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/simulated_disk.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::test {

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

    void apply() { chain_->apply(steps_++); }
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
        const std::filesystem::path away = folder_ / "away";
        std::filesystem::rename(state(), away);
        std::uint64_t generation = 0;
        std::optional<mismatch> problem;
        try {
            const world restored(state(),
                                 {.verify = false, .how = options_on(from, when_asked()).how});
            const opening& opened = restored.db().opened();
            generation = opened.generation;
            if (why) *why = opened.why;
            if (generation != 0) expect_one_of(expected.at(generation), restored.db());
        } catch (const mismatch& e) {
            problem = e;
        } catch (const error& e) {
            if (why) *why = e.what();
        }
        std::filesystem::remove_all(state());
        std::filesystem::rename(away, state());
        if (problem) throw *problem;
        return generation;
    }

    /// Restores from `on` in place of this chain, is killed, opens what is left, and makes a
    /// checkpoint, which is restored. Throws mismatch when that is not what was checkpointed.
    opening checkpointed_again(simulated_disk& on) const {
        const std::filesystem::path away = folder_ / "away";
        std::filesystem::rename(state(), away);
        const auto how = options_on(on, when_asked()).how;
        world(state(), {.verify = false, .how = how}).db().abandon();
        std::uint64_t digest = 0;
        {
            world killed(state(), {.verify = false, .how = how});
            killed.db().make_checkpoint();
            digest = digest_of(killed.db());
            killed.db().abandon();
        }
        std::filesystem::remove_all(state() / "segment");
        opening result;
        {
            const world restored(state(), {.verify = false, .how = how});
            result = restored.db().opened();
            expect(digest_of(restored.db()) == digest, "what was checkpointed");
        }
        std::filesystem::remove_all(state());
        std::filesystem::rename(away, state());
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

} // namespace chainbase::test
