#pragma once

#include <tools/chains/decoded_block.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::archive {
class committed_state;
}
namespace chainbase::feed {
class replica;
}
namespace chainbase {

/// The result of looking up every object of a state.
struct verification {
    std::uint64_t objects = 0; ///< looked up by id and by key
    std::uint64_t in_memory = 0;
    std::uint64_t in_archive = 0;
    std::uint64_t problem_count = 0;
    std::vector<std::string> problems; ///< the first ones, in words

    void report(std::string problem) {
        if (++problem_count <= 10) problems.push_back(std::move(problem));
    }
};

/// The rules of a chain, applied to objects in a database and a store.
///
/// A block is begun, its transactions are applied one after the other, and it is ended; all changes
/// belong to the current session. Between blocks a model keeps no state of its own, not even
/// counters: everything is in the objects, so undo, reopening and kills keep it right. Used by the
/// writer thread; the blocks come from the same chain's decoder.
///
/// Throws rejected_error when a block or transaction is at fault; errors of the database and the
/// store pass through.
class chain_model {
public:
    using named_counts = std::vector<std::pair<std::string, std::int64_t>>;

    chain_model() = default;
    chain_model(const chain_model&) = delete;
    chain_model& operator=(const chain_model&) = delete;
    virtual ~chain_model() = default;

    /// Begins a block and does the work that precedes its transactions. Throws rejected_error when
    /// it does not follow the block before: undo the session then.
    virtual void begin_block(std::uint64_t number, std::int64_t timestamp) = 0;
    /// Applies one transaction of the current block. Throws rejected_error naming transaction,
    /// operation and rule; undo its session then, and others can still be applied.
    virtual void apply(const decoded_block& from, std::size_t transaction) = 0;
    /// Ends the block.
    virtual void end_block() = 0;

    /// Begins to apply pending transactions, as if the next block had the given time. Ends with the
    /// session.
    virtual void begin_pending(std::int64_t timestamp) = 0;

    /// Notes the keys that applying the transaction will look up; the block outlives
    /// look_up_noted().
    virtual void note_keys(const decoded_block& from, std::size_t transaction) = 0;
    /// Looks up all noted keys together, so that their cache misses overlap and applying finds the
    /// objects in the cache. Changes nothing.
    virtual void look_up_noted() = 0;

    /// Moves up to `limit` finished objects that can no longer be undone to the archive, as changes
    /// of the current session. Returns how many: 0 in a chain without finished objects. See
    /// archive::lifecycle.
    virtual std::size_t hand_over(std::size_t /*limit*/) { return 0; }
    /// As hand_over(), but another thread writes, in full batches only: the objects that leave
    /// memory now belong to a batch of an earlier call.
    virtual std::size_t hand_over_behind(std::size_t /*batch*/) { return 0; }

    /// Objects of each type that moved to the archive.
    [[nodiscard]] virtual named_counts archived() const { return {}; }

    /// The counts that check a replay; the chain's README.md says what each must be.
    [[nodiscard]] virtual named_counts oracle() const = 0;

    /// Throws damaged_error, with the figures, when an identity fails that holds after every block.
    virtual void check() const = 0;

    /// Looks up every object by id and by key, and compares the positions found with the expected
    /// ones.
    [[nodiscard]] virtual verification verify() const = 0;

    /// SHA-256 over the content of all objects of the chain; see archive/state_digest.hpp.
    [[nodiscard]] virtual std::string state_digest() const = 0;

    /// Adds all types of the chain to what a state root commits to. Requires that the model is over
    /// the database of that root. Throws what committed_state::add throws.
    virtual void commit_to(archive::committed_state& root) const = 0;

    /// Adds all types of the chain, with what is kept beside them, to what copies them from another
    /// state. Requires that the model is over the database of that copy, and outlives it.
    virtual void copy_by(feed::replica& to) = 0;
};

/// Consecutive blocks, owned by the caller.
using run_of_blocks = std::span<const decoded_block* const>;

/// Applies whole blocks: begins each, applies its transactions, ends it. `at` is the current one,
/// for a caller that handles an exception. Calls after_each(block), if given, after each.
void apply_blocks(chain_model& model, run_of_blocks run, std::size_t& at,
                  const std::function<void(const decoded_block&)>& after_each = {});

/// How many transactions' keys are looked up together: enough for misses to overlap, few enough for
/// their objects to stay in the cache until they are applied.
inline constexpr std::size_t transactions_ahead = 32;

/// The same at this moment. While pages of the state are missed it is many more: a lookup then
/// wakes many threads, which costs more than 32 transactions do, and what counts are the reads of
/// the disk that overlap, not the cache.
[[nodiscard]] std::size_t transactions_ahead_now() noexcept;

/// Looks up the keys of transactions that are applied one after the other, some at a time.
///
/// A Cursor names a transaction: done(), block(), transaction(), next().
template <typename Cursor>
class lookahead {
public:
    lookahead(chain_model& model, const Cursor& first) : model_(model), next_(first) {}

    /// To be called before each transaction is applied.
    void step() {
        if (ahead_ == 0) {
            const std::size_t most = transactions_ahead_now();
            for (; ahead_ < most && !next_.done(); ++ahead_, next_.next())
                model_.note_keys(next_.block(), next_.transaction());
            model_.look_up_noted();
        }
        if (ahead_ != 0) --ahead_;
    }

private:
    chain_model& model_;
    Cursor next_;
    std::size_t ahead_ = 0; ///< transactions whose keys were looked up, and which are not applied
};

/// The transactions of consecutive blocks.
class run_cursor {
public:
    explicit run_cursor(run_of_blocks run) noexcept : run_(run) { skip_empty(); }

    [[nodiscard]] bool done() const noexcept { return run_.empty(); }
    [[nodiscard]] const decoded_block& block() const noexcept { return *run_.front(); }
    [[nodiscard]] std::size_t transaction() const noexcept { return transaction_; }
    void next() noexcept {
        if (++transaction_ == block().transactions()) {
            run_ = run_.subspan(1);
            transaction_ = 0;
            skip_empty();
        }
    }

private:
    void skip_empty() noexcept {
        while (!run_.empty() && run_.front()->transactions() == 0)
            run_ = run_.subspan(1);
    }

    run_of_blocks run_;
    std::size_t transaction_ = 0;
};

} // namespace chainbase
