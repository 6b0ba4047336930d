#pragma once

#include <tools/block_log/block.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/codec.hpp>
#include <tools/driver/generate/random_numbers.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace chainbase::generate {

/// Makes blocks of a stream of operations: numbers from 1 on, a block every three seconds, about so
/// many transactions each, mostly of one operation. Ends after a number of operations.
class block_builder {
public:
    static constexpr std::int64_t seconds_per_block = 3;
    static constexpr std::int64_t genesis = 1'735'689'600; ///< Unix seconds
    static constexpr std::uint64_t accounts_per_block = 1000;

    block_builder(std::uint64_t operations, std::uint32_t accounts,
                  std::uint32_t transactions_per_block)
        : operations_left_(operations), accounts_left_(accounts),
          transactions_per_block_(transactions_per_block) {}

    /// Of the block being made.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] std::int64_t timestamp() const noexcept {
        return genesis + static_cast<std::int64_t>(number_) * seconds_per_block;
    }

    /// The next block; nothing when there are no operations left. `create_account()` and
    /// `operation()` each give the operation that comes next.
    template <typename CreateAccount, typename Operation>
    std::optional<block> next(random_numbers& random, CreateAccount&& create_account,
                              Operation&& operation) {
        if (operations_left_ == 0) return {};
        ++number_;
        block result{number_, timestamp(), {}};
        if (accounts_left_ > 0) {
            result.transactions.resize(std::min(accounts_left_, accounts_per_block));
            for (transaction& one : result.transactions)
                one.operations.push_back(encoded(create_account()));
            accounts_left_ -= result.transactions.size();
            operations_left_ -= result.transactions.size();
            return result;
        }
        const std::uint64_t half = transactions_per_block_ / 2;
        std::uint64_t left =
            random.between(transactions_per_block_ - half, transactions_per_block_ + half);
        result.transactions.reserve(left);
        for (; left > 0 && operations_left_ > 0; --left)
            result.transactions.push_back(next_transaction(random, operation));
        return result;
    }

private:
    template <typename Operation>
    transaction next_transaction(random_numbers& random, Operation& operation) {
        std::uint64_t size = random.chance(1, 20) ? random.between(2, 4) : 1;
        size = std::min(size, operations_left_);
        transaction result;
        result.operations.reserve(size);
        for (operations_left_ -= size; size > 0; --size)
            result.operations.push_back(encoded(operation()));
        return result;
    }

    /// What the chain's encode() gives, with one allocation where that takes one for each doubling.
    template <typename Operation>
    static bytes encoded(const Operation& one) {
        bytes result;
        result.reserve(192);
        byte_writer writer(result);
        codec::write(writer, one);
        return result;
    }

    std::uint64_t operations_left_;
    std::uint64_t accounts_left_;
    std::uint64_t transactions_per_block_;
    std::uint64_t number_ = 0;
};

} // namespace chainbase::generate
