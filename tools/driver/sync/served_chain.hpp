#pragma once

#include <tools/driver/sync/chain_ids.hpp>
#include <tools/driver/sync/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::driver {

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
    explicit served_chain(const block_log_reader& log, std::vector<losing_branch> branches = {},
                          const std::function<bool()>& must_end = {});

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
