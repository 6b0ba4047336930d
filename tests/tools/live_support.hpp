#pragma once

#include <chainbase/database.hpp>
#include <tools/chains/payments/objects.hpp>
#include <tools/driver/live/live_node.hpp>

#include <tests/tools/captured_log.hpp>
#include <tests/tools/small_chain.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::test {

/// A payments chain with a node over it.
struct payments_node : small_chain {
    captured_log quiet;
    driver::live::arrivals queue{1000};
    driver::live::live_node node;

    explicit payments_node(std::int64_t lag = 10, driver::live::live_node::options how = {})
        : small_chain("payments", lag), node(state, queue, how) {
        state.apply(
            made({payments::account_create{"alice", 100}, payments::account_create{"bob", 10},
                  payments::account_create{"carol", 0}}));
    }

    /// The next block, of a transaction for each operation.
    [[nodiscard]] block made(const std::vector<payments::operation>& operations) const {
        block one{state.head() + 1, 1000 + static_cast<std::int64_t>(state.head()), {}};
        for (const auto& op : operations)
            one.transactions.push_back({{payments::encode(op)}});
        return one;
    }
    [[nodiscard]] std::shared_ptr<const decoded_block>
    decoded(const std::vector<payments::operation>& operations) const {
        return decoder_of("payments")(encode_block(made(operations)));
    }
    /// They arrive, in this order.
    void send(const std::vector<payments::operation>& operations) {
        const auto from = decoded(operations);
        queue.push({from, 0, static_cast<std::uint32_t>(operations.size()), {}, {}});
    }
    void work() { node.work(driver::live::clock::now() + std::chrono::hours(1)); }
    [[nodiscard]] std::int64_t balance(const char* name) {
        return state.state().get<payments::account_object, payments::by_name>(name).balance;
    }
    [[nodiscard]] std::string digest() const { return state.model().state_digest(); }
};

} // namespace chainbase::test
