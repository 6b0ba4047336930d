#pragma once

#include <tools/bench/account.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace chainbase::bench {

/// Where an engine of `large` keeps its files, and what it may use.
struct large_places {
    std::filesystem::path folder;  ///< on the file system under test; empty, removed by the caller
    std::uint64_t cache_bytes = 0; ///< for an engine with a cache of its own
};

/// A store of the bench `large`: accounts of 72 bytes, found by their names of 16 bytes and by
/// nothing else. Account i is called crash_plan::name_of(i) and has first_balance_of(its name).
///
/// Used by one thread. Failures are exceptions.
class large_engine {
public:
    virtual ~large_engine() = default;

    /// Makes accounts 0 to count - 1, in any order.
    virtual void fill_large(std::uint32_t count) = 0;
    /// Begins and ends a block; changes are made within one.
    virtual void begin_block() = 0;
    virtual void end_block() = 0;
    /// The balance of an account that exists.
    [[nodiscard]] virtual std::int64_t find_balance(const account_name& name) = 0;
    /// Adds one to the savings of an account that exists: no key.
    virtual void change_savings(const account_name& name) = 0;
    [[nodiscard]] virtual std::int64_t find_savings(const account_name& name) = 0;
    /// Whether prepare() does anything.
    [[nodiscard]] virtual bool prepares() const noexcept { return false; }
    /// Announces the accounts that come next.
    virtual void prepare(std::span<const account_name>) {}
    /// The folder of files that it keeps elsewhere; empty: it has none. Removes them at its end.
    [[nodiscard]] virtual std::filesystem::path elsewhere() const { return {}; }

    [[nodiscard]] static std::int64_t first_balance_of(const account_name& name) noexcept {
        return static_cast<std::int64_t>(account_name_hash{}(name) >> 1U);
    }
};

/// An engine and its name in reports.
struct large_engine_entry {
    enum class files {
        on_disk,    ///< in the folder under test
        in_memory,  ///< whatever the folder under test
        by_default, ///< where a state in that folder has them, with memory enough
    };

    std::string_view name;
    std::unique_ptr<large_engine> (*open)(const large_places&);
    files where = files::on_disk;
    bool replays = false; ///< has the rows of large_replay, too
};

/// @name The engines; nothing is synced
/// @{
/// In the folder, a file system of any kind.
[[nodiscard]] std::unique_ptr<large_engine> open_large_chainbase(const large_places&);
/// Where open_options put a new segment by default; no checkpoints while it is open.
[[nodiscard]] std::unique_ptr<large_engine> open_large_chainbase_default(const large_places&);
/// Does not read ahead, and writes through its mapping.
[[nodiscard]] std::unique_ptr<large_engine> open_large_lmdb(const large_places&);
/// Without a write-ahead log.
[[nodiscard]] std::unique_ptr<large_engine> open_large_rocksdb(const large_places&);
/// @}

} // namespace chainbase::bench
