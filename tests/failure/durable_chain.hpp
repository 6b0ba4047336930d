#pragma once

#include <tests/support/chain_model.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/simulated_disk.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::test {

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

    /// A step: it ends with a block that is pushed, or in another way.
    void apply() {
        const revision_number before = db().revision();
        chain_->apply(steps_);
        ++steps_;
        if (db().revision() > before) pushed_ = steps_.load();
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
        const std::filesystem::path away = folder_ / "away";
        std::filesystem::rename(state(), away);
        found result;
        std::optional<mismatch> problem;
        try {
            const world restored(state(), {.verify = false, .how = options_on(from).how});
            result.opened = restored.db().opened();
            if (result.opened.how == opening::way::restored) {
                result.step = step_of(restored.db());
                check_keys_of(restored.db());
            }
        } catch (const mismatch& e) {
            problem = e;
        } catch (const error& e) {
            result.refusal = e.what();
        }
        std::filesystem::remove_all(state());
        std::filesystem::rename(away, state());
        if (problem) throw *problem;
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
    struct stand {
        std::uint64_t digest;
        revision_number revision;
        revision_number committed;
    };

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
