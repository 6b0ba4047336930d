#pragma once

#include <archive/store.hpp>
#include <chainbase/statistics.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/chain_model.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace chainbase::driver {

/// A chain's state in a folder: the database, the archive in `archive/` below it, and the chain's
/// model over both; one session for each block.
///
/// Invariants: (1) the state is after a whole block, also after a kill and after any exception;
/// (2) the revision is the number of blocks applied; (3) the last `lag` blocks can be popped,
/// unless finish() was called; (4) what the archive was given is on disk before the state is closed
/// properly.
///
/// For one thread.
class chain_state {
public:
    /// Opens the state of `chain` in `folder`, or makes it. Throws usage_error when there is no
    /// model for the chain or the folder holds a state of another chain or program, and what
    /// opening a database and a store throws; then nothing was changed.
    chain_state(const std::filesystem::path& folder, const std::string& chain, std::int64_t lag);
    /// As close(), but a failure is only logged.
    ~chain_state();

    /// Puts the archive's rows on disk, then closes the database. When the rows cannot be put there
    /// it throws what archive::store::sync throws, and the state does not count as closed properly.
    /// Nothing may be called afterwards but the destructor and close(), which then does nothing.
    void close();

    /// Throws usage_error unless the log is the one that the state was made from: it has the block
    /// at which the state stands.
    void require_made_from(const block_log_reader& log) const;

    /// Applies the block after head(). Throws rejected_error naming block, transaction, operation
    /// and what to do when the block is to blame; out_of_space_error, limit_error, io_error or
    /// damaged_error, naming the block, when database or archive are. The state is then what it
    /// was.
    void apply(const block& next);

    /// Takes the last block back. Throws usage_error when it cannot be undone.
    void pop();

    /// Makes every block irreversible and takes all that is finished to the archive: what is right
    /// at the end of a block log, which holds irreversible blocks only.
    void finish();

    /// Numbers of blocks; 0 when there is none.
    [[nodiscard]] std::uint64_t head() const;
    [[nodiscard]] std::uint64_t irreversible() const;
    /// Blocks and operations applied since the chain began.
    [[nodiscard]] std::uint64_t blocks() const;
    [[nodiscard]] std::uint64_t operations() const;

    [[nodiscard]] const chain_model& model() const noexcept;
    [[nodiscard]] const archive::statistics& lookups() const noexcept;
    [[nodiscard]] segment_statistics memory() const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace chainbase::driver
