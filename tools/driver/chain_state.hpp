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

/// A block's number and id. All zero: no block, the parent of the first one.
struct block_place {
    std::uint64_t number = 0;
    block_id id;

    friend bool operator==(const block_place&, const block_place&) = default;
};

/// Durability, placement and access of a state, and what it commits to.
struct state_options {
    durability level = durability::checkpoint;
    std::chrono::milliseconds checkpoint_interval{30'000};
    std::filesystem::path memory_folder;               ///< open_options::memory_folder
    std::uint64_t expected_bytes = 0;                  ///< open_options::expected_bytes
    std::uint64_t feed_bytes = std::uint64_t{1} << 30; ///< feed::writer_options; 0: no feed
    std::string group; ///< members of this group may read the state; empty: only its owner
    std::optional<archive::store_kind> archive; ///< for a new state; nothing: unchanged, or rocksdb
    root_options root;
    /// Takes over a state that another version wrote, with other keys or fields of a type; blocks
    /// that could still be undone are permanent then. Nothing: the caller does not offer it.
    std::optional<bool> migrates;
};

/// A chain's state in a folder: the database, the archive in `archive/` below it, and the chain's
/// model over both. Blocks are applied one by one, each in its own session that can be popped, or,
/// if nothing will ever be popped, in runs of many. Pending transactions are applied on top, each
/// in a nested session of one outer session that drops them all.
///
/// Invariants: (1) the state is after a whole block, or a whole run of irreversible ones, also
/// after a kill and after any exception; (2) the last `lag` blocks can be popped, unless they came
/// in a run or finish() was called; (3) rows given to the archive are on disk before the state is
/// closed properly.
///
/// For one thread. With readers in other threads, make each changing call under
/// state().with_write_lock; it locks out readers in other processes by itself.
class chain_state {
public:
    /// Opens or creates the state of `chain` in `folder`. Throws usage_error when the chain has no
    /// model or the folder holds a state of another chain or program, and what opening a database
    /// and a store throws; nothing is changed then.
    chain_state(const std::filesystem::path& folder, const std::string& chain, std::int64_t lag,
                const state_options& state_settings = {});
    /// Whether a state, of whatever program, is in a folder.
    [[nodiscard]] static bool is_in(const std::filesystem::path& folder);
    /// The chain of the state in a folder; nothing without a state. Opens it as a writer, which
    /// recovers it, and closes it. Throws what opening a database throws.
    [[nodiscard]] static std::optional<std::string> chain_of(const std::filesystem::path& folder,
                                                             const state_options& state_settings);
    /// As chain_of(). Throws usage_error when the folder holds no state of a chain.
    [[nodiscard]] static std::string require_chain(const std::filesystem::path& folder);

    /// As close(), but a failure is only logged.
    ~chain_state();

    /// Syncs the archive's rows, then closes the database. If the rows cannot be synced it throws
    /// what archive::store::sync throws, and the state does not count as closed properly.
    /// Afterwards only the destructor and close(), then without effect, may be called.
    void close();

    /// Call it before applying blocks of a log. Pops blocks that differ from the log's, as they
    /// belong to a branch that lost, and logs this. Throws usage_error when the log lacks the
    /// state's blocks, or differs from those that cannot be popped: the state was not made from it.
    void align_with_log(const block_log_reader& log);

    /// Throws usage_error when the head is beyond the block to stop at.
    void require_not_beyond(std::uint64_t number) const;

    /// Turns the state root on or off as the options say, or rebuilds it where the state was
    /// written without it. Applying blocks and finish() do so first; call it to read the root
    /// before. Throws what chain_root::catch_up throws; nothing changed then.
    void apply_root_options();

    /// @name Blocks
    /// They follow head(). Throw rejected_error naming block, transaction, operation and what to do
    /// when a block is at fault; out_of_space_error, limit_error, io_error or damaged_error, naming
    /// the block, when database or archive are. Drop pending transactions first.
    /// @{

    /// Applies a block that can be popped. The state is unchanged when this throws.
    void apply(const decoded_block& next);
    void apply(const block& next);

    /// Applies irreversible blocks as one step: a kill undoes all of them. While somebody follows
    /// the state's feed, they can no longer be undone when the next step or end_steps() is done.
    /// When this throws, the state is after the last block before the named one, or, when a disk or
    /// memory is at fault, possibly before the whole run.
    void apply_irreversible(run_of_blocks run);
    /// Makes the last step irreversible.
    void end_steps();

    /// Pops the last block. Throws usage_error when it cannot be undone.
    void pop();

    /// Makes every block irreversible and archives all finished objects: right at the end of a
    /// block log, which holds irreversible blocks only.
    void finish();
    /// @}

    /// @name Pending transactions
    /// @{

    /// Begins to apply transactions on top of the head, as if the next block had this time. No
    /// effect if already begun.
    void begin_pending(std::int64_t timestamp);
    /// Applies one transaction. Returns why it is rejected, or nothing when it was applied. Throws
    /// other errors after undoing the transaction. Requires begin_pending() or begin_block().
    [[nodiscard]] std::optional<std::string> apply_pending(const decoded_block& from,
                                                           std::size_t transaction);
    /// Undoes all pending transactions, and a block begun and not ended.
    void drop_pending();
    [[nodiscard]] bool has_pending() const noexcept;
    /// @}

    /// @name Producing a block
    /// @{

    /// Begins the block after head(), to which apply_pending() adds transactions; rejected ones are
    /// not in the block. Drops pending transactions. Throws as apply() does.
    void begin_block(std::int64_t timestamp);
    /// Ends the block; it can be popped like any other. `checksum` identifies it; it has
    /// `operations` operations. Requires begin_block().
    void end_block(std::uint64_t checksum, std::uint64_t operations);
    /// @}

    /// Block numbers; 0 when there is none. Pending transactions do not count.
    [[nodiscard]] std::uint64_t head() const;
    [[nodiscard]] std::uint64_t irreversible() const;
    /// Id and timestamp of the head; all zero, and 0, when there is none.
    [[nodiscard]] block_id head_id() const;
    [[nodiscard]] std::int64_t head_time() const;
    /// The id of a block that can be popped, or of the last that cannot; nothing for other numbers.
    [[nodiscard]] std::optional<block_id> id_of(std::uint64_t number) const;
    /// The last block that cannot be popped (all zero when there is none), then in order those that
    /// can.
    [[nodiscard]] std::vector<block_place> last_blocks() const;
    /// Blocks and operations applied since the chain began.
    [[nodiscard]] std::uint64_t blocks() const;
    [[nodiscard]] std::uint64_t operations() const;

    [[nodiscard]] const std::string& chain() const noexcept;
    [[nodiscard]] const chain_model& model() const noexcept;
    [[nodiscard]] chain_model& model() noexcept;
    [[nodiscard]] const archive::store& rows() const noexcept;
    /// The state root; null when the state has none.
    [[nodiscard]] const chain_root* root() const noexcept;
    [[nodiscard]] chain_root* root() noexcept;
    [[nodiscard]] segment_statistics memory() const;
    [[nodiscard]] checkpoint::history checkpoints() const;
    /// The database, for its locks and for readers.
    [[nodiscard]] database& state() noexcept;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace chainbase::driver
