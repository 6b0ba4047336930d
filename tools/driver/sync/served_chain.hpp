#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::driver {

/// Number and id of each block of a log: 16 bytes for each, and 16 for each gap in the numbers.
///
/// Made by reading the log once. Immutable afterwards; safe to read from any thread.
class chain_ids {
public:
    /// Largest encoding of a block that fits in a frame.
    static constexpr std::size_t largest_block =
        wire::max_payload - sizeof(wire::blocks) - sizeof(std::uint32_t);

    /// Reads the whole log, with progress on stderr. Throws damaged_error when it is damaged,
    /// limit_error when a block exceeds the protocol's maximum, interrupted_error after a signal.
    explicit chain_ids(const block_log_reader& log);

    [[nodiscard]] std::size_t count() const noexcept { return ids_.size(); }
    /// The block with this index, counted from 0. Requires index < count().
    [[nodiscard]] block_place at(std::size_t index) const;
    /// The index of the block with this number; nothing when there is none.
    [[nodiscard]] std::optional<std::size_t> index_of(std::uint64_t number) const;
    /// Blocks up to and including this place, if it is on this chain.
    [[nodiscard]] std::optional<std::size_t> blocks_up_to(const block_place& place) const;

private:
    /// Blocks with contiguous numbers.
    struct stretch {
        std::uint64_t first_number;
        std::size_t first_index;
    };

    void add(std::uint64_t number, std::uint64_t checksum);

    std::vector<block_id> ids_;
    std::vector<stretch> stretches_;
};

/// A branch of a chain that the chain overtakes.
struct losing_branch {
    std::uint64_t fork_point = 0; ///< number of the chain's block before the branch
    std::vector<bytes> blocks;    ///< encoded
};

/// The blocks that a server serves: a log's, and branches that lose against it.
///
/// Immutable; safe to read from any thread.
class served_chain {
public:
    /// Reads the log once. Leaves out branches that are not overtaken by the log's end: a client
    /// that follows the longest chain would stay on them. Throws what chain_ids throws, and
    /// usage_error when a branch follows no block of the log.
    explicit served_chain(const block_log_reader& log, std::vector<losing_branch> branches = {});

    [[nodiscard]] const block_log_reader& log() const noexcept { return log_; }
    [[nodiscard]] const chain_ids& ids() const noexcept { return ids_; }
    /// The hello while the first `available` blocks are published.
    [[nodiscard]] hello_message hello(std::size_t available) const;
    [[nodiscard]] block_place head(std::size_t available) const;

    /// Number of the chain's blocks that the client has; nothing when it has none.
    [[nodiscard]] std::optional<std::size_t> common(const request_message& request) const;

    /// Iterates over the frames for a client: a branch comes right behind its fork point, so it is
    /// the longest until the chain overtakes it. Not thread-safe.
    class cursor {
    public:
        /// For a client that has the chain's first `blocks` blocks.
        cursor(const served_chain& chain, std::size_t blocks);

        /// The next frame, of about `size` bytes and within the first `available` blocks; nothing
        /// when all of them were sent. Throws damaged_error when the log is damaged.
        [[nodiscard]] std::optional<bytes> next_frame(std::size_t size, std::size_t available);
        /// Blocks in the frames so far, including branches.
        [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

    private:
        [[nodiscard]] bytes frame_of_branch(std::size_t size);
        [[nodiscard]] bytes frame_of_chain(std::size_t size, std::size_t available);

        const served_chain* chain_;
        block_log_stream blocks_;
        std::optional<bytes> carried_; ///< read, but not in a frame yet
        std::size_t at_;               ///< blocks of the chain that the client has, or was sent
        std::multimap<std::size_t, losing_branch>::const_iterator branch_;
        std::size_t in_branch_ = 0; ///< blocks of the branch that were sent
        block_place branch_head_;
        std::uint64_t sent_ = 0;
    };

private:
    block_log_reader log_;
    chain_ids ids_;
    std::multimap<std::size_t, losing_branch> branches_; ///< by the number of blocks before it
};

} // namespace chainbase::driver
