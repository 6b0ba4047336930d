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
namespace chainbase {

/// What looking for every object of a state came to.
struct verification {
    std::uint64_t objects = 0; ///< looked for by id and by key
    std::uint64_t in_memory = 0;
    std::uint64_t in_archive = 0;
    std::uint64_t problem_count = 0;
    std::vector<std::string> problems; ///< the first ones, in words

    void report(std::string problem) {
        if (++problem_count <= 10) problems.push_back(std::move(problem));
    }
};

/// What a chain makes of its blocks: the rules, over objects in a database and a store.
///
/// A block is begun, its transactions are applied one after the other, and it is ended; all of it
/// as changes of the session under way. Between blocks a model holds no state of its own, not even
/// counts: all of it is in the objects, so that undo, reopening and kills keep it right. Used by
/// the writer thread; the blocks come from the decoder of the same chain.
///
/// What a block or transaction is to blame for is thrown as rejected_error; what the database and
/// the store throw when the fault is theirs passes as it is.
class chain_model {
public:
    using named_counts = std::vector<std::pair<std::string, std::int64_t>>;

    chain_model() = default;
    chain_model(const chain_model&) = delete;
    chain_model& operator=(const chain_model&) = delete;
    virtual ~chain_model() = default;

    /// Begins a block, with what comes before its transactions. Throws rejected_error when it does
    /// not follow the block before: undo the session then.
    virtual void begin_block(std::uint64_t number, std::int64_t timestamp) = 0;
    /// Applies one transaction of the block that was begun. Throws rejected_error naming
    /// transaction, operation and rule; undo the session it was applied in then, and others can
    /// still be applied.
    virtual void apply(const decoded_block& from, std::size_t transaction) = 0;
    /// Ends the block.
    virtual void end_block() = 0;

    /// Begins to apply transactions that are in no block yet, as if the next block had the given
    /// time. Ends with the session.
    virtual void begin_pending(std::int64_t timestamp) = 0;

    /// Asks for the memory that applying the transaction will touch, so that waiting for it
    /// overlaps with work: first where keys are looked up, then, some transactions later, the
    /// objects that they lead to, and later again the places of their ids. Changes nothing.
    virtual void prefetch_keys(const decoded_block& from, std::size_t transaction) const = 0;
    virtual void prefetch_objects(const decoded_block& from, std::size_t transaction) const = 0;
    virtual void prefetch_ids(const decoded_block& from, std::size_t transaction) const = 0;

    /// Answers what users of a node ask, as its API would: `question` chooses a kind (an account by
    /// name, a comment with its votes, the next cash-outs, ...) and what it is about. Returns a
    /// number that depends on all that was looked at. Any thread, under the state's read lock.
    [[nodiscard]] virtual std::uint64_t answer(std::uint64_t question) const = 0;

    /// Takes up to `limit` finished objects whose end cannot be undone from memory to the archive,
    /// as changes of the session under way. Returns how many: none in a chain where nothing is ever
    /// finished. See archive::lifecycle.
    virtual std::size_t hand_over(std::size_t /*limit*/) { return 0; }
    /// The same while another thread writes, in full batches only: what leaves memory now is what
    /// an earlier call began.
    virtual std::size_t hand_over_behind(std::size_t /*batch*/) { return 0; }

    /// Objects of each type that left memory for the archive.
    [[nodiscard]] virtual named_counts archived() const { return {}; }

    /// The counts by which a replay is judged; chain's README.md says what each must be.
    [[nodiscard]] virtual named_counts oracle() const = 0;

    /// Throws damaged_error, with the figures, when an identity does not hold that holds after
    /// every block.
    virtual void check() const = 0;

    /// Looks for every object by id and by key, and compares the places with what they should be.
    [[nodiscard]] virtual verification verify() const = 0;

    /// SHA-256 over the content of all objects of the chain; see archive/state_digest.hpp.
    [[nodiscard]] virtual std::string state_digest() const = 0;

    /// Adds all types of the chain to what a state root commits to. Requires that the model is over
    /// the database of that root. Throws what committed_state::add throws.
    virtual void commit_to(archive::committed_state& root) const = 0;
};

/// Consecutive blocks, owned by the caller.
using run_of_blocks = std::span<const decoded_block* const>;

/// Applies whole blocks: each begun, all of its transactions, ended. `at` is the one under way, for
/// the caller that handles what one throws. Calls after_each(block), if there is such a function,
/// when one is ended.
void apply_blocks(chain_model& model, run_of_blocks run, std::size_t& at,
                  const std::function<void(const decoded_block&)>& after_each = {});

/// How many transactions ahead memory is asked for: far enough that it answers, near enough that
/// the cache still has it.
inline constexpr std::size_t keys_ahead = 24;
inline constexpr std::size_t objects_ahead = 16;
inline constexpr std::size_t ids_ahead = 8;

/// Prefetches for transactions that are applied one after the other: a step before each, which asks
/// for the memory of some that come later.
///
/// A Cursor names a transaction: done(), block(), transaction(), next(). Copies go on alone.
template <typename Cursor>
class lookahead {
public:
    lookahead(const chain_model& model, const Cursor& first)
        : model_(model), keys_(first), objects_(first), ids_(first) {
        for (std::size_t i = 0; i < keys_ahead; ++i) {
            ask_for_keys();
            if (i >= keys_ahead - objects_ahead) ask_for_objects();
            if (i >= keys_ahead - ids_ahead) ask_for_ids();
        }
    }
    /// To be called before each transaction is applied.
    void step() {
        ask_for_keys();
        ask_for_objects();
        ask_for_ids();
    }

private:
    void ask_for_keys() {
        if (keys_.done()) return;
        model_.prefetch_keys(keys_.block(), keys_.transaction());
        keys_.next();
    }
    void ask_for_objects() {
        if (objects_.done()) return;
        model_.prefetch_objects(objects_.block(), objects_.transaction());
        objects_.next();
    }
    void ask_for_ids() {
        if (ids_.done()) return;
        model_.prefetch_ids(ids_.block(), ids_.transaction());
        ids_.next();
    }

    const chain_model& model_;
    Cursor keys_;
    Cursor objects_;
    Cursor ids_;
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
