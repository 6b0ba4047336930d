#pragma once

#include <archive/store.hpp>
#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/statistics.hpp>
#include <tools/block_log/block.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/driver/root/chain_root.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase {
class database;
}

namespace chainbase::driver {

class chain_root;

/// Where a block stands in its chain. That of no block, which the first one follows, is all zero.
struct block_place {
    std::uint64_t number = 0;
    block_id id;

    friend bool operator==(const block_place&, const block_place&) = default;
};

/// What of a state survives, where its segment is, who may look at it, and what it commits to.
struct promise_options {
    durability level = durability::checkpoint;
    std::chrono::milliseconds checkpoint_interval{30'000};
    std::filesystem::path memory_folder; ///< for its segment; empty: the state folder
    std::string group; ///< whose members may read the state; empty: nobody but its owner
    std::optional<archive::store_kind> archive; ///< of a new state; nothing: as it is, or rocksdb
    root_options root;
};

/// A chain's state in a folder: the database, the archive in `archive/` below it, and the chain's
/// model over both. Blocks are applied one by one, each in a session of its own that can be popped,
/// or, where nothing will ever be popped, in runs of many. Transactions that are in no block yet
/// are applied on top, each in a session within one that drops them all.
///
/// Invariants: (1) the state is after a whole block, or a whole run of irreversible ones, also
/// after a kill and after any exception; (2) the last `lag` blocks can be popped, unless they came
/// in a run or finish() was called; (3) what the archive was given is on disk before the state is
/// closed properly.
///
/// For one thread. Beside readers in other threads, each call that changes something belongs under
/// state().with_write_lock; those in other processes it keeps out by itself.
class chain_state {
public:
    /// Opens the state of `chain` in `folder`, or makes it. Throws usage_error when there is no
    /// model for the chain or the folder holds a state of another chain or program, and what
    /// opening a database and a store throws; then nothing was changed.
    chain_state(const std::filesystem::path& folder, const std::string& chain, std::int64_t lag,
                const promise_options& promise = {});
    /// Of which chain the state in a folder is; nothing when there is none. Opens it as a writer
    /// does, so that it is in order, and closes it. Throws what opening a database throws.
    [[nodiscard]] static std::optional<std::string> chain_of(const std::filesystem::path& folder,
                                                             const promise_options& promise);
    /// As chain_of(). Throws usage_error when no state of a chain is there.
    [[nodiscard]] static std::string require_chain(const std::filesystem::path& folder);

    /// As close(), but a failure is only logged.
    ~chain_state();

    /// Puts the archive's rows on disk, then closes the database. When the rows cannot be put there
    /// it throws what archive::store::sync throws, and the state does not count as closed properly.
    /// Nothing may be called afterwards but the destructor and close(), which then does nothing.
    void close();

    /// To be called before blocks of a log are applied. Blocks that can be popped and that are
    /// others in the log are of a branch that lost: they are popped, which is said on stderr.
    /// Throws usage_error when the log has no such blocks, or others than those that cannot be
    /// popped: the state was not made from it.
    void go_on_with(const block_log_reader& log);

    /// Throws usage_error when the head is beyond that block, at which the work is to stop.
    void require_not_beyond(std::uint64_t number) const;

    /// Turns the state root on or off as the options say, or makes it anew where the state was
    /// written without it. What applies blocks, and finish(), do so first: this is for who looks at
    /// the root before. Throws what chain_root::catch_up throws; then nothing changed.
    void settle_root();

    /// @name Blocks
    /// They follow head(). Throw rejected_error naming block, transaction, operation and what to do
    /// when a block is to blame; out_of_space_error, limit_error, io_error or damaged_error, naming
    /// the block, when database or archive are. Pending transactions are dropped first.
    /// @{

    /// Applies a block that can be popped again. The state is what it was when this throws.
    void apply(const decoded_block& next);
    void apply(const block& next);

    /// Applies blocks that are irreversible, as one step: a kill takes all of them back. When this
    /// throws, the state is after the last block before the one named, or, when a disk or memory is
    /// to blame, perhaps before the whole run.
    void apply_irreversible(run_of_blocks run);

    /// Takes the last block back. Throws usage_error when it cannot be undone.
    void pop();

    /// Makes every block irreversible and takes all that is finished to the archive: what is right
    /// at the end of a block log, which holds irreversible blocks only.
    void finish();
    /// @}

    /// @name Pending transactions
    /// @{

    /// Begins to apply transactions on top of the head, as if the next block had this time. Does
    /// nothing when that was done already.
    void begin_pending(std::int64_t timestamp);
    /// Applies one transaction. Returns why it is rejected, or nothing when it was applied. Throws
    /// what else goes wrong, with the transaction taken back. Requires begin_pending() or
    /// begin_block().
    [[nodiscard]] std::optional<std::string> apply_pending(const decoded_block& from,
                                                           std::size_t transaction);
    /// Takes all pending transactions back, and a block that was begun and not ended.
    void drop_pending();
    [[nodiscard]] bool has_pending() const noexcept;
    /// @}

    /// @name A block that is made here
    /// @{

    /// Begins the block after head(), which apply_pending() then adds transactions to: those it
    /// rejects are not in the block. Drops pending transactions. Throws as apply() does.
    void begin_block(std::int64_t timestamp);
    /// Ends it: the block can be popped like any other. `checksum` names it, `operations` are in
    /// it. Requires begin_block().
    void end_block(std::uint64_t checksum, std::uint64_t operations);
    /// @}

    /// Numbers of blocks; 0 when there is none. Pending transactions count for nothing here.
    [[nodiscard]] std::uint64_t head() const;
    [[nodiscard]] std::uint64_t irreversible() const;
    /// Of the head; all zero, and 0, when there is none.
    [[nodiscard]] block_id head_id() const;
    [[nodiscard]] std::int64_t head_time() const;
    /// A block that can still be popped, or the last that cannot; nothing for other numbers.
    [[nodiscard]] std::optional<block_id> id_of(std::uint64_t number) const;
    /// The last block that cannot be popped (all zero when there is none), then those that can, in
    /// their order.
    [[nodiscard]] std::vector<block_place> last_blocks() const;
    /// Blocks and operations applied since the chain began.
    [[nodiscard]] std::uint64_t blocks() const;
    [[nodiscard]] std::uint64_t operations() const;

    [[nodiscard]] const std::string& chain() const noexcept;
    [[nodiscard]] const chain_model& model() const noexcept;
    [[nodiscard]] const archive::store& rows() const noexcept;
    /// The state root; null when the state has none.
    [[nodiscard]] const chain_root* root() const noexcept;
    [[nodiscard]] segment_statistics memory() const;
    [[nodiscard]] checkpoint::history checkpoints() const;
    /// For its locks, and for who reads.
    [[nodiscard]] database& state() noexcept;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace chainbase::driver
