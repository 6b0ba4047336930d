#pragma once

#include <tools/bench/bank_engine.hpp>
#include <tools/bench/engines/stored_account.hpp>

#include <boost/describe.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace chainbase::bench {

/// A bank_transfer as an object; its id is its number.
struct bank_entry {
    chainbase::id<bank_entry> id;
    std::uint32_t spare = 0;
    account_name from;
    account_name to;
    std::int64_t amount = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(bank_entry, (), (id, spare, from, to, amount))

/// @name What a view has: a database, a snapshot, or anything with their calls
/// @{
template <typename View>
[[nodiscard]] std::int64_t balances_in(const View& view, std::span<const account_name> accounts) {
    std::int64_t sum = 0;
    for (const account_name& name : accounts)
        sum += view.template get<hashed_account, named>(name).balance;
    return sum;
}
template <typename View>
[[nodiscard]] bank_totals totals_in(const View& view, bool with_log) {
    bank_totals sum;
    for (const hashed_account& one : view.template objects<hashed_account>())
        sum.add_account(one.name, one.balance);
    if (!with_log) return sum;
    for (const bank_entry& one : view.template objects<bank_entry>())
        sum.add_entry(one.id.value, {one.from, one.to, one.amount});
    return sum;
}
/// @}

/// A bank in a State with the interface of chainbase::database; a batch is a session that is
/// committed at its end.
template <typename State>
class stored_bank : public bank_engine {
public:
    template <typename... Arguments>
    explicit stored_bank(Arguments&&... arguments) : state_(std::forward<Arguments>(arguments)...) {
        state_.template add_type<hashed_account>("account");
        state_.template add_type<bank_entry>("entry");
    }

    void open_accounts(std::uint32_t count) override {
        for (std::uint32_t i = 0; i < count; ++i)
            state_.template create<hashed_account>([&](hashed_account& made) {
                made.name = crash_plan::name_of(i);
                made.balance = bank_plan::first_balance;
            });
    }
    void transfer(std::uint64_t, std::span<const bank_transfer> batch) override {
        auto all = state_.start_session();
        for (const bank_transfer& one : batch) {
            const auto& from = state_.template get<hashed_account, named>(one.from);
            const auto& to = state_.template get<hashed_account, named>(one.to);
            state_.modify(from, [&](hashed_account& payer) { payer.balance -= one.amount; });
            state_.modify(to, [&](hashed_account& payee) { payee.balance += one.amount; });
            state_.template create<bank_entry>([&](bank_entry& entry) {
                entry.from = one.from;
                entry.to = one.to;
                entry.amount = one.amount;
            });
        }
        all.push();
        state_.commit(state_.revision());
    }
    /// Not beside a writer.
    std::unique_ptr<bank_reader> reader() override {
        class plain final : public bank_reader {
        public:
            explicit plain(const State& state) : state_(state) {}
            std::int64_t look(std::span<const account_name> accounts) override {
                return balances_in(state_, accounts);
            }
            bank_totals totals(bool with_log) override { return totals_in(state_, with_log); }

        private:
            const State& state_;
        };
        return std::make_unique<plain>(state_);
    }

protected:
    State state_;
};

} // namespace chainbase::bench
