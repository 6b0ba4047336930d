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

/// The places of a log's blocks: 16 bytes for each, and 16 for each gap in their numbers.
///
/// Made by reading the log once. Immutable afterwards, safe to read from any thread.
class chain_ids {
public:
    /// Bytes of a block's encoding that a frame has room for.
    static constexpr std::size_t largest_block =
        wire::max_payload - sizeof(wire::blocks) - sizeof(std::uint32_t);

    /// Reads the whole log, with progress on the log of the program. Throws damaged_error when it
    /// is damaged, limit_error when a block is larger than the protocol takes, interrupted_error
    /// after a signal.
    explicit chain_ids(const block_log_reader& log);

    [[nodiscard]] std::size_t count() const noexcept { return ids_.size(); }
    /// Of the block that `index` others come before. Requires index < count().
    [[nodiscard]] block_place at(std::size_t index) const;
    /// How many blocks come before the one of this number; nothing when there is none.
    [[nodiscard]] std::optional<std::size_t> index_of(std::uint64_t number) const;
    /// How many blocks there are up to and including this place, if it is one of this chain.
    [[nodiscard]] std::optional<std::size_t> blocks_up_to(const block_place& place) const;

private:
    /// Blocks whose numbers follow each other without a gap.
    struct stretch {
        std::uint64_t first_number;
        std::size_t first_index;
    };

    void add(std::uint64_t number, std::uint64_t checksum);

    std::vector<block_id> ids_;
    std::vector<stretch> stretches_;
};

/// Blocks that follow a block of a chain, and that the chain leaves behind.
struct losing_branch {
    std::uint64_t fork_point = 0; ///< number of the chain's block that the first one follows
    std::vector<bytes> blocks;    ///< encoded
};

/// What a server has to give: the blocks of a log, and branches that lose against it.
///
/// Immutable; safe to read from any thread.
class served_chain {
public:
    /// Reads the log once. Branches that it does not overtake, at its end, are left away: who
    /// follows the longest chain would stay on them. Throws what chain_ids throws, and usage_error
    /// when a branch follows no block of the log.
    explicit served_chain(const block_log_reader& log, std::vector<losing_branch> branches = {});

    [[nodiscard]] const block_log_reader& log() const noexcept { return log_; }
    [[nodiscard]] const chain_ids& ids() const noexcept { return ids_; }
    /// Of the first `available` blocks.
    [[nodiscard]] hello_message hello(std::size_t available) const;
    [[nodiscard]] block_place head(std::size_t available) const;

    /// How many blocks of the chain the client has; nothing when it has none of them.
    [[nodiscard]] std::optional<std::size_t> common(const request_message& request) const;

    /// Goes over what follows, a frame at a time: a branch right behind the block that it follows,
    /// so that it is the longest there is until the chain overtakes it. Not thread-safe.
    class cursor {
    public:
        /// Of who has the chain's first `blocks` blocks.
        cursor(const served_chain& chain, std::size_t blocks);

        /// The next frame, of about `size` bytes and of the first `available` blocks; nothing when
        /// all of them were sent. Throws damaged_error when the log is damaged.
        [[nodiscard]] std::optional<bytes> next_frame(std::size_t size, std::size_t available);
        /// Blocks in the frames so far, those of branches included.
        [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

    private:
        [[nodiscard]] bytes frame_of_branch(std::size_t size);
        [[nodiscard]] bytes frame_of_chain(std::size_t size, std::size_t available);

        const served_chain* chain_;
        block_log_stream blocks_;
        std::optional<bytes> carried_; ///< read, and not in a frame yet
        std::size_t at_;               ///< blocks of the chain that were sent, or that he has
        std::multimap<std::size_t, losing_branch>::const_iterator branch_;
        std::size_t in_branch_ = 0; ///< blocks of it that were sent
        block_place branch_head_;
        std::uint64_t sent_ = 0;
    };

private:
    block_log_reader log_;
    chain_ids ids_;
    std::multimap<std::size_t, losing_branch> branches_; ///< by the blocks before it
};

} // namespace chainbase::driver
