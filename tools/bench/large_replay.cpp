#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/large_conditions.hpp>
#include <tools/bench/large_replay.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/block_source.hpp>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace chainbase::bench {

namespace {

/// Decoded blocks that come one after the other.
struct part_of_chain {
    std::vector<std::shared_ptr<const decoded_block>> blocks;
    std::uint64_t operations = 0;
};

class generated_chain {
public:
    explicit generated_chain(std::uint64_t operations) : source_(source_of(operations)) {}

    /// So many operations, to the end of their last block; fewer at the chain's end.
    [[nodiscard]] part_of_chain next(std::uint64_t operations) {
        part_of_chain part;
        while (part.operations < operations) {
            const std::optional<block> one = source_->next();
            if (!one) break;
            part.blocks.push_back(decode_(encode_block(*one)));
            part.operations += part.blocks.back()->operations();
        }
        return part;
    }

private:
    static std::unique_ptr<generate::block_source> source_of(std::uint64_t operations) {
        generate::chain_options options;
        options.operations = operations;
        return generate::make_block_source(options);
    }

    std::unique_ptr<generate::block_source> source_;
    block_decoder decode_ = decoder_of(social::generated_chain_name);
};

/// One state, from empty to the last row.
class replaying_state {
public:
    replaying_state(const std::filesystem::path& folder, std::uint64_t operations,
                    measurements& measured)
        : folder_(folder), engine_(make_chainbase_chain(social::generated_chain_name, folder)),
          chain_(std::in_place, operations), part_(std::max<std::uint64_t>(operations / 20, 1)),
          measured_(measured) {}

    void grow() {
        for (std::uint64_t left = part_ * 17; left != 0;) {
            const std::uint64_t now = std::min(left, max_growing);
            (void)apply(chain_->next(now));
            left -= now;
        }
        ::sync();
    }
    /// Returns ns per operation, and adds them.
    double row(const std::string& name, const part_of_chain& part) {
        throw_if_interrupted();
        spdlog::info("{}", name);
        const auto before = disk_count::below(folder_);
        const double ns = apply(part) / static_cast<double>(part.operations);
        const auto after = disk_count::below(folder_);
        measured_.add(name, metric::ns, ns);
        if (!before || !after) return ns;
        const auto operations = static_cast<double>(part.operations);
        measured_.add(name + "_disk_read", metric::bytes,
                      static_cast<double>(after->read - before->read) / operations);
        measured_.add(name + "_disk_written", metric::bytes,
                      static_cast<double>(after->written - before->written) / operations);
        return ns;
    }
    /// The last two parts, made while there is memory for them and for the generator.
    double last_rows(const std::string& name, bool takes_memory) {
        const part_of_chain untimed = chain_->next(part_);
        const part_of_chain timed = chain_->next(part_);
        chain_.reset();
        std::optional<taken_memory> taken;
        if (takes_memory) taken.emplace(held_in_files(folder_) / 2);
        (void)apply(untimed);
        return row(name, timed);
    }

    [[nodiscard]] part_of_chain next_part() { return chain_->next(part_); }
    [[nodiscard]] std::uint64_t bytes() const { return held_in_files(folder_); }
    [[nodiscard]] std::string digest() const {
        engine_->model().check();
        return engine_->model().state_digest();
    }

private:
    static constexpr std::uint64_t max_growing = 200'000; ///< of which the blocks are in memory

    double apply(const part_of_chain& part) {
        throw_if_interrupted();
        std::vector<const decoded_block*> run;
        for (const auto& one : part.blocks)
            run.push_back(one.get());
        return nanoseconds([&] { replay(*engine_, run, stepping::in_sessions); });
    }

    const std::filesystem::path& folder_;
    std::unique_ptr<chain_engine> engine_;
    std::optional<generated_chain> chain_;
    std::uint64_t part_;
    measurements& measured_;
};

} // namespace

void large_replay::run(const std::filesystem::path& folder, place where) {
    if (operations_ == 0) return;
    spdlog::info("the chain to replay grows its state");
    replaying_state state(folder, operations_, measured_);
    state.grow();
    measured_.add("replay_state_bytes", metric::bytes, static_cast<double>(state.bytes()));
    state.row("replay", state.next_part());
    if (where == place::disk_then_short) {
        const double ns = state.last_rows("short_replay", true);
        if (of_short_in_memory_ != 0)
            measured_.add("short_replay_to_memory", metric::ratio, ns / of_short_in_memory_);
    } else {
        const double ns = state.last_rows("replay_of_short", false);
        if (where == place::memory) of_short_in_memory_ = ns;
    }
    require_same(state.digest());
}

void large_replay::require_same(const std::string& digest) {
    if (digest_.empty()) digest_ = digest;
    if (digest_ != digest)
        throw damaged_error("bench: the same blocks lead to another state on a disk than in "
                            "memory: the figures are invalid");
}

} // namespace chainbase::bench
