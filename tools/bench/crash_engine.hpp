#pragma once

#include <tools/bench/account.hpp>
#include <tools/bench/measurements.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::bench {

/// The work of the bench `crash`: payments between accounts, a block of them at a time. The same
/// for every engine, and made before a clock runs.
class crash_plan {
public:
    /// Accounts by number. No account is in two payments of a block, so no engine has to read what
    /// it has not committed yet.
    struct payment {
        std::uint32_t from;
        std::uint32_t to;
    };
    using block = std::vector<payment>;

    /// What every account has at first; payments move one unit each.
    static constexpr std::int64_t money_each = 1'000'000;

    /// Requires 2 * payments <= accounts.
    crash_plan(std::uint32_t accounts, std::uint32_t payments, std::uint32_t blocks)
        : accounts_(accounts), payments_(payments), blocks_(blocks) {}

    [[nodiscard]] std::uint32_t accounts() const noexcept { return accounts_; }
    [[nodiscard]] std::uint32_t payments() const noexcept { return payments_; }
    [[nodiscard]] std::uint32_t blocks() const noexcept { return blocks_; }
    /// Among all accounts it shares nothing with its neighbours: a page for each account, mostly.
    [[nodiscard]] block block_of(std::uint64_t number) const { return among(accounts_, number); }
    /// Among the first `accounts` of them.
    [[nodiscard]] block among(std::uint32_t accounts, std::uint64_t number) const;

    [[nodiscard]] static account_name name_of(std::uint64_t account) noexcept;

private:
    std::uint32_t accounts_;
    std::uint32_t payments_;
    std::uint32_t blocks_;
};

/// What the engines that keep bytes keep of an account, under its name: with that 72 bytes, as in
/// the account bench.
struct crash_account {
    std::int64_t balance = 0;
    std::int64_t savings = 0;
    std::int64_t vesting = 0;
    std::int64_t debt = 0;
    std::uint64_t counts[3] = {};
};
static_assert(sizeof(crash_account) + 16 == 72);

/// Where an engine keeps what.
struct crash_places {
    std::filesystem::path disk;   ///< what is to survive the machine
    std::filesystem::path memory; ///< what need not; engines without such a part leave it empty
};

/// Takes a figure.
using crash_sink = std::function<void(std::string_view operation, metric unit, double sample)>;

/// A state of accounts that pay each other, with the number of the last block in it. It is opened
/// when it is made; the destructor closes it as its users would.
///
/// Used in a process of its own, which may be killed.
class crash_engine {
public:
    virtual ~crash_engine() = default;

    /// Makes all accounts; block 0 is complete then.
    virtual void fill(const crash_plan& plan) = 0;
    /// Applies a block and returns when what the engine promises of it holds.
    virtual void apply(std::uint64_t number, const crash_plan::block& payments) = 0;
    /// The same, but calls `stop` where half of the payments are made and nothing is complete.
    virtual void apply_half(std::uint64_t number, const crash_plan::block& payments,
                            const std::function<void()>& stop) = 0;
    /// Waits for what it does in the background, as far as the time between two blocks of a chain
    /// is enough for it.
    virtual void settle() {}
    [[nodiscard]] virtual std::uint64_t last_block() = 0;
    /// Of all accounts: reads all of them.
    [[nodiscard]] virtual std::int64_t money() = 0;
    /// Closes it as a clean end of its process does. Nothing but the destructor may be called then.
    virtual void close() = 0;
    /// What no other engine has.
    virtual void measure_own(const crash_plan&, const crash_sink&) {}
};

/// Opens the state in these places, or makes it.
using crash_engine_maker = std::unique_ptr<crash_engine> (*)(const crash_places&);

/// An engine by the name under which it appears in reports.
struct crash_engine_entry {
    std::string_view name;
    crash_engine_maker open;
    /// Takes from a closed state what a crash of the machine takes; null where that cannot be told.
    void (*lose_memory)(const crash_places&);
};

/// @name The engines, by what they promise of a block that is complete
/// @{
/// The process may be killed; the machine: the last checkpoint, one in ten blocks.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase(const crash_places&);
/// The process may be killed.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase_process(const crash_places&);
/// The machine may lose power: the redo log has the block.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase_commit(const crash_places&);
/// The machine may lose power: a checkpoint after every block.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase_synced(const crash_places&);
void lose_chainbase_memory(const crash_places&);
/// The machine may lose power.
[[nodiscard]] std::unique_ptr<crash_engine> open_lmdb_sync(const crash_places&);
/// The process may be killed; power loss may leave nothing that opens.
[[nodiscard]] std::unique_ptr<crash_engine> open_lmdb_nosync(const crash_places&);
/// The machine may lose power.
[[nodiscard]] std::unique_ptr<crash_engine> open_rocksdb_sync(const crash_places&);
/// The process may be killed; the machine: an earlier block.
[[nodiscard]] std::unique_ptr<crash_engine> open_rocksdb_nosync(const crash_places&);
/// The machine may lose power.
[[nodiscard]] std::unique_ptr<crash_engine> open_sqlite_full(const crash_places&);
/// The process may be killed; the machine: an earlier block.
[[nodiscard]] std::unique_ptr<crash_engine> open_sqlite_normal(const crash_places&);
/// @}

} // namespace chainbase::bench
