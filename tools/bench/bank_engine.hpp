#pragma once

#include <tools/bench/account.hpp>
#include <tools/bench/crash_engine.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace chainbase::bench {

/// A transfer between two accounts, and the row that it adds to the bank's log.
struct bank_transfer {
    account_name from;
    account_name to;
    std::int64_t amount = 0;
};
static_assert(sizeof(bank_transfer) == 40);

/// What a bank has in it. Equal for two banks with the same accounts, balances and log, whatever
/// the order in which they are added.
struct bank_totals {
    std::uint64_t accounts = 0;
    std::uint64_t entries = 0; ///< of the log
    std::int64_t money = 0;    ///< in all accounts
    std::uint64_t digest = 0;

    void add_account(const account_name& name, std::int64_t balance) noexcept {
        ++accounts;
        money += balance;
        digest += mix(account_name_hash{}(name) ^ mix(static_cast<std::uint64_t>(balance)));
    }
    void add_entry(std::uint64_t number, const bank_transfer& entry) noexcept {
        ++entries;
        digest += mix(account_name_hash{}(entry.from) ^ mix(account_name_hash{}(entry.to)) ^
                      mix(number ^ mix(static_cast<std::uint64_t>(entry.amount))));
    }

    friend bool operator==(const bank_totals&, const bank_totals&) = default;
};

/// The work of the bench `bank`: transfers, the same for every engine and made before they are
/// timed, and what they must come to. Account i is called crash_plan::name_of(i).
class bank_plan {
public:
    static constexpr std::int64_t first_balance = 1'000'000;
    static constexpr std::int64_t most_per_transfer = 100;

    /// Requires at least 2 accounts.
    explicit bank_plan(std::uint32_t accounts) : balances_(accounts, first_balance) {}

    [[nodiscard]] std::uint32_t accounts() const noexcept {
        return static_cast<std::uint32_t>(balances_.size());
    }
    /// How many transfers it has made.
    [[nodiscard]] std::uint64_t made() const noexcept { return log_.entries; }

    /// The next transfers.
    [[nodiscard]] std::vector<bank_transfer> next(std::uint32_t count) {
        std::vector<bank_transfer> all(count);
        for (bank_transfer& one : all) {
            const std::uint32_t from = any_account();
            std::uint32_t to = any_account();
            while (to == from)
                to = any_account();
            one = {crash_plan::name_of(from), crash_plan::name_of(to),
                   static_cast<std::int64_t>(draw() % most_per_transfer) + 1};
            balances_[from] -= one.amount;
            balances_[to] += one.amount;
            log_.add_entry(log_.entries, one);
        }
        return all;
    }
    /// Of a bank with all accounts after all transfers that were made, numbered from 0.
    [[nodiscard]] bank_totals totals() const {
        bank_totals sum = log_;
        for (std::uint32_t i = 0; i < accounts(); ++i)
            sum.add_account(crash_plan::name_of(i), balances_[i]);
        return sum;
    }
    /// Names of accounts as the transfers choose them.
    [[nodiscard]] std::vector<account_name> names(std::size_t count) {
        std::vector<account_name> all(count);
        for (account_name& one : all)
            one = crash_plan::name_of(any_account());
        return all;
    }

private:
    std::uint64_t draw() noexcept { return state_ = mix(state_); }
    /// A triangle: the share of account i falls in a straight line, from twice the average at 0 to
    /// nothing at the last one. Names are hashes, so that the busy accounts are not side by side.
    std::uint32_t any_account() noexcept {
        const auto one = static_cast<std::int64_t>(draw() % accounts());
        const auto other = static_cast<std::int64_t>(draw() % accounts());
        return static_cast<std::uint32_t>(std::abs(one - other));
    }

    std::vector<std::int64_t> balances_;
    bank_totals log_;
    std::uint64_t state_ = 0x62616e6b;
};

/// Reads a bank beside its writer, in views of which each is the bank between two batches. For one
/// thread; its engine outlives it.
class bank_reader {
public:
    virtual ~bank_reader() = default;

    /// The sum of the balances of these accounts, in a view of its own.
    [[nodiscard]] virtual std::int64_t look(std::span<const account_name> accounts) = 0;
    /// All accounts, in one view; the log of the same view too, if it is asked for.
    [[nodiscard]] virtual bank_totals totals(bool with_log) = 0;
};

/// Accounts of 72 bytes found by their names of 16 bytes, and a log of transfers by number.
///
/// Used by one thread, and readers beside it. Failures are exceptions.
class bank_engine {
public:
    virtual ~bank_engine() = default;

    /// Makes accounts 0 to count - 1, each with bank_plan::first_balance.
    virtual void open_accounts(std::uint32_t count) = 0;
    /// All of them happen or none. The first has this number in the log, the others follow. Returns
    /// when they are as durable as the engine makes them.
    virtual void transfer(std::uint64_t number, std::span<const bank_transfer> batch) = 0;
    [[nodiscard]] virtual std::unique_ptr<bank_reader> reader() = 0;
};

/// An engine and its name in reports.
struct bank_engine_entry {
    std::string_view name;
    std::unique_ptr<bank_engine> (*open)(const crash_places&);
    /// A batch survives a loss of power. Of the others all files are in memory.
    bool synced = false;
    /// Whether a reader may be used while the engine writes.
    bool reads_beside = true;
};

/// @name The engines
/// @{
/// Nothing is synced; a batch survives a kill of the process.
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_chainbase(const crash_places&);
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_chainbase_locked(const crash_places&);
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_lmdb(const crash_places&);
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_rocksdb(const crash_places&);
/// Nothing is synced; what a kill within a batch leaves may be damaged.
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_classical(const crash_places&);
/// A sync for each batch.
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_chainbase_commit(const crash_places&);
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_lmdb_sync(const crash_places&);
[[nodiscard]] std::unique_ptr<bank_engine> open_bank_rocksdb_sync(const crash_places&);
/// @}

} // namespace chainbase::bench
