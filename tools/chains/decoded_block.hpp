#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase {

/// A block with decoded operations. Any thread can prepare it, so that the writer thread only has
/// to apply it.
///
/// Made by a block_decoder (chains.hpp) and given to the chain's model. Immutable; safe to read
/// from any number of threads.
class decoded_block {
public:
    static constexpr std::int64_t last_timestamp = 253'402'300'799; ///< the year 9999 ends

    decoded_block(const decoded_block&) = delete;
    decoded_block& operator=(const decoded_block&) = delete;
    virtual ~decoded_block() = default;

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    /// Unix seconds, at most last_timestamp: small additions cannot overflow.
    [[nodiscard]] std::int64_t timestamp() const noexcept { return timestamp_; }
    /// Of the block's encoding: equal for equal blocks.
    [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }
    /// Bytes of the block's encoding.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    /// Bytes of memory that the decoded block takes, including the most its texts can take, for a
    /// caller that bounds its queue. May be many times bytes(): even a three-byte operation becomes
    /// an object.
    [[nodiscard]] std::size_t memory() const noexcept { return memory_; }

    [[nodiscard]] std::size_t transactions() const noexcept { return parts_.size(); }
    /// Operations of all transactions, those that could not be decoded included.
    [[nodiscard]] std::size_t operations() const noexcept {
        return parts_.empty() ? 0 : parts_.back().end;
    }
    /// Operations of one transaction.
    [[nodiscard]] std::size_t operations_of(std::size_t transaction) const noexcept {
        return parts_[transaction].end - begin_of(transaction);
    }
    /// Checksum of one transaction's encoding: equal for equal transactions in any block.
    [[nodiscard]] std::uint64_t checksum_of(std::size_t transaction) const noexcept {
        return parts_[transaction].checksum;
    }

    /// Why an operation is malformed; only the first one, as decoding stops there.
    struct fault {
        std::size_t transaction;
        std::size_t operation; ///< within the transaction
        std::string reason;
    };
    [[nodiscard]] const std::optional<fault>& malformed() const noexcept { return malformed_; }

protected:
    decoded_block() = default;

    /// Parses the block's frame and passes each operation to add(). Throws damaged_error as
    /// decode_block does. Called once, by the constructor of the class that has add().
    void read(byte_view encoded);

    [[nodiscard]] std::size_t begin_of(std::size_t transaction) const noexcept {
        return transaction == 0 ? 0 : parts_[transaction - 1].end;
    }

private:
    /// Announces about how many operations will follow.
    virtual void expect(std::size_t operations) = 0;
    /// Bytes of the object and of what add() stores, without texts.
    [[nodiscard]] virtual std::size_t own_memory() const noexcept = 0;
    /// Decodes the next operation. Throws damaged_error when it is not valid for the chain;
    /// malformed() keeps the error.
    virtual void add(byte_view operation) = 0;
    void read_transaction(byte_reader& reader);
    void try_add(byte_view operation, std::size_t within);

    struct part {
        std::size_t end; ///< operations up to and including this transaction's
        std::uint64_t checksum;
    };

    std::uint64_t number_ = 0;
    std::int64_t timestamp_ = 0;
    std::uint64_t checksum_ = 0;
    std::size_t bytes_ = 0;
    std::size_t memory_ = 0;
    std::vector<part> parts_;
    std::optional<fault> malformed_;
};

} // namespace chainbase
