#pragma once

#include <tools/chains/codec.hpp>
#include <tools/chains/decoded_block.hpp>
#include <tools/chains/rejected.hpp>

#include <span>
#include <string>
#include <vector>

namespace chainbase {

/// A decoded_block of the chain whose operations are of the variant Operation.
template <typename Operation>
class operations_block final : public decoded_block {
public:
    /// Decodes a block as a log keeps it. An operation that is malformed is kept as malformed();
    /// throws damaged_error when the frame around the operations is.
    explicit operations_block(byte_view encoded) { read(encoded); }

    /// The operations of one transaction, as far as they could be decoded.
    [[nodiscard]] std::span<const Operation> of(std::size_t transaction) const noexcept {
        const std::size_t begin = std::min(begin_of(transaction), decoded_.size());
        const std::size_t end = std::min(begin + operations_of(transaction), decoded_.size());
        return std::span(decoded_).subspan(begin, end - begin);
    }

private:
    void expect(std::size_t operations) override { decoded_.reserve(operations); }
    [[nodiscard]] std::size_t own_memory() const noexcept override {
        return sizeof(*this) + decoded_.capacity() * sizeof(Operation);
    }
    void add(byte_view operation) override {
        decoded_.push_back(codec::decode<Operation>(operation, "operation"));
    }

    std::vector<Operation> decoded_;
};

/// Calls apply(operation) for every operation of one transaction, in order.
///
/// What the transaction itself causes comes out as a rejected_error that says where ("transaction 2
/// of 3, operation 1 of 1: ..."): an operation that is malformed, a broken rule, a key that is
/// taken or does not exist. Everything else passes as it is, above all a database or a store that
/// has no room or cannot be read: another copy of the block would change nothing about that.
template <typename Operation, typename Apply>
void apply_transaction(const operations_block<Operation>& from, std::size_t transaction,
                       Apply&& apply) {
    std::size_t at = 0;
    const auto reject = [&](const std::string& why) {
        throw rejected_error("transaction " + std::to_string(transaction + 1) + " of " +
                             std::to_string(from.transactions()) + ", operation " +
                             std::to_string(at + 1) + " of " +
                             std::to_string(from.operations_of(transaction)) + ": " + why);
    };
    try {
        for (const Operation& one : from.of(transaction)) {
            apply(one);
            ++at;
        }
    } catch (const rejected_error& problem) {
        reject(problem.what());
    } catch (const duplicate_key_error& problem) {
        reject(problem.what());
    } catch (const not_found_error& problem) {
        reject(problem.what());
    }
    if (at < from.operations_of(transaction)) reject(from.malformed()->reason);
}

} // namespace chainbase
