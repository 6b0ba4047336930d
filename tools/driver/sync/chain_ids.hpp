#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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
    /// when must_end() says so.
    explicit chain_ids(const block_log_reader& log, const std::function<bool()>& must_end = {});

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

} // namespace chainbase::driver
