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

/// The work of the bench `crash`: payments between accounts in blocks. The same for every engine,
/// and made before any timing.
class crash_plan {
public:
    /// Accounts by number. No account is in two payments of a block, so no engine must read its own
    /// uncommitted writes.
    struct payment {
        std::uint32_t from;
        std::uint32_t to;
    };
    using block = std::vector<payment>;

    /// Every account's initial money; payments move one unit each.
    static constexpr std::int64_t money_each = 1'000'000;

    /// Requires 2 * payments <= accounts.
    crash_plan(std::uint32_t accounts, std::uint32_t payments, std::uint32_t blocks)
        : accounts_(accounts), payments_(payments), blocks_(blocks) {}

    [[nodiscard]] std::uint32_t accounts() const noexcept { return accounts_; }
    [[nodiscard]] std::uint32_t payments() const noexcept { return payments_; }
    [[nodiscard]] std::uint32_t blocks() const noexcept { return blocks_; }
    /// Among all accounts: most accounts of a block share no page.
    [[nodiscard]] block block_of(std::uint64_t number) const { return among(accounts_, number); }
    /// Among the first `accounts` of them.
    [[nodiscard]] block among(std::uint32_t accounts, std::uint64_t number) const;

    /// 16 letters, others for any two accounts, in no order.
    [[nodiscard]] static account_name name_of(std::uint64_t account) noexcept {
        static constexpr char letters[] = "abcdefghijklmnop";
        char text[account_name::capacity];
        std::uint64_t bits = mix(account);
        for (char& letter : text) {
            letter = letters[bits & 15];
            bits >>= 4;
        }
        return account_name::of_fitting({text, sizeof text});
    }

private:
    std::uint32_t accounts_;
    std::uint32_t payments_;
    std::uint32_t blocks_;
};

/// An account's value in byte stores, keyed by its name: 72 bytes with the name, as in the account
/// bench.
struct crash_account {
    std::int64_t balance = 0;
    std::int64_t savings = 0;
    std::int64_t vesting = 0;
    std::int64_t debt = 0;
    std::uint64_t counts[3] = {};
};
static_assert(sizeof(crash_account) + 16 == 72);

/// The folders of an engine.
struct crash_places {
    std::filesystem::path disk;   ///< for files that must survive a machine crash
    std::filesystem::path memory; ///< for other files; engines without such files leave it empty
};

/// Receives a figure.
using crash_sink = std::function<void(std::string_view operation, metric unit, double sample)>;

/// A state of accounts that pay each other, with the number of its last block. The constructor
/// opens it; the destructor closes it as its users would.
///
/// Used in a separate process, which may be killed.
class crash_engine {
public:
    virtual ~crash_engine() = default;

    /// Makes all accounts; block 0 is then complete.
    virtual void fill(const crash_plan& plan) = 0;
    /// Applies a block and returns when the engine's durability holds for it.
    virtual void apply(std::uint64_t number, const crash_plan::block& payments) = 0;
    /// As apply(), but calls `stop` after half of the payments, when nothing is complete.
    virtual void apply_half(std::uint64_t number, const crash_plan::block& payments,
                            const std::function<void()>& stop) = 0;
    /// Waits for background work, as far as the time between two blocks of a chain allows it.
    virtual void settle() {}
    [[nodiscard]] virtual std::uint64_t last_block() = 0;
    /// Sum over all accounts; reads all of them.
    [[nodiscard]] virtual std::int64_t money() = 0;
    /// Closes it as a clean end of the process does. Only the destructor may be called then.
    virtual void close() = 0;
    /// Measurements that only this engine has.
    virtual void measure_own(const crash_plan&, const crash_sink&) {}
};

/// Opens or makes the state in these folders.
using crash_engine_maker = std::unique_ptr<crash_engine> (*)(const crash_places&);

/// An engine and its name in reports.
struct crash_engine_entry {
    std::string_view name;
    crash_engine_maker open;
    /// Removes from a closed state what a machine crash takes; null where that is unknown.
    void (*lose_memory)(const crash_places&);
};

/// @name The engines, by the durability of a complete block
/// @{
/// Survives a process kill; after a machine crash the last checkpoint, one in ten blocks.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase(const crash_places&);
/// Survives a process kill.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase_process(const crash_places&);
/// Survives a power failure: the redo log has the block.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase_commit(const crash_places&);
/// Survives a power failure: a checkpoint after every block.
[[nodiscard]] std::unique_ptr<crash_engine> open_chainbase_synced(const crash_places&);
void lose_chainbase_memory(const crash_places&);
/// Survives a power failure.
[[nodiscard]] std::unique_ptr<crash_engine> open_lmdb_sync(const crash_places&);
/// Survives a process kill; a power failure may leave an unusable database.
[[nodiscard]] std::unique_ptr<crash_engine> open_lmdb_nosync(const crash_places&);
/// Survives a power failure.
[[nodiscard]] std::unique_ptr<crash_engine> open_rocksdb_sync(const crash_places&);
/// Survives a process kill; after a machine crash an earlier block.
[[nodiscard]] std::unique_ptr<crash_engine> open_rocksdb_nosync(const crash_places&);
/// Survives a power failure.
[[nodiscard]] std::unique_ptr<crash_engine> open_sqlite_full(const crash_places&);
/// Survives a process kill; after a machine crash an earlier block.
[[nodiscard]] std::unique_ptr<crash_engine> open_sqlite_normal(const crash_places&);
/// @}

} // namespace chainbase::bench
