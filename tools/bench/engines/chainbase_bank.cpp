#include <chainbase/database.hpp>
#include <chainbase/snapshot/read_pool.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/engines/stored_bank.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace chainbase::bench {

namespace {

/// As a server's threads read. Its views are at most as old as read_pool's default.
class pool_reader final : public bank_reader {
public:
    explicit pool_reader(const database& db) : pool_(db) {}

    std::int64_t look(std::span<const account_name> accounts) override {
        return pool_.read([&](const snapshot& then) { return balances_in(then, accounts); });
    }
    bank_totals totals(bool with_log) override {
        return pool_.read([&](const snapshot& then) { return totals_in(then, with_log); });
    }

private:
    read_pool pool_;
};

/// Keeps the writer out.
class locking_reader final : public bank_reader {
public:
    explicit locking_reader(const database& db) : db_(db) {}

    std::int64_t look(std::span<const account_name> accounts) override {
        return db_.with_read_lock([&] { return balances_in(db_, accounts); });
    }
    bank_totals totals(bool with_log) override {
        return db_.with_read_lock([&] { return totals_in(db_, with_log); });
    }

private:
    const database& db_;
};

class chainbase_bank : public stored_bank<database> {
public:
    chainbase_bank(const std::filesystem::path& state, const open_options& how)
        : stored_bank(state, how), is_synced_(how.durability == durability::commit) {}

    void open_accounts(std::uint32_t count) override {
        stored_bank::open_accounts(count);
        wait_if_synced();
    }
    void transfer(std::uint64_t number, std::span<const bank_transfer> batch) override {
        stored_bank::transfer(number, batch);
        wait_if_synced();
    }
    std::unique_ptr<bank_reader> reader() override { return std::make_unique<pool_reader>(state_); }

private:
    void wait_if_synced() {
        if (is_synced_) state_.wait_until_durable();
    }

    bool is_synced_;
};

class locked_bank final : public chainbase_bank {
public:
    using chainbase_bank::chainbase_bank;

    void transfer(std::uint64_t number, std::span<const bank_transfer> batch) override {
        state_.with_write_lock([&] { chainbase_bank::transfer(number, batch); });
    }
    std::unique_ptr<bank_reader> reader() override {
        return std::make_unique<locking_reader>(state_);
    }
};

/// A view that reads all accounts lasts for several hundred thousand transfers.
open_options with_log_for_walks(open_options how) {
    how.snapshot_log_bytes = std::uint64_t{1} << 30;
    return how;
}

} // namespace

std::unique_ptr<bank_engine> open_bank_chainbase(const crash_places& at) {
    return std::make_unique<chainbase_bank>(at.memory / "state",
                                            with_log_for_walks(options_for_bench()));
}

std::unique_ptr<bank_engine> open_bank_chainbase_locked(const crash_places& at) {
    return std::make_unique<locked_bank>(at.memory / "state", options_for_bench());
}

std::unique_ptr<bank_engine> open_bank_chainbase_commit(const crash_places& at) {
    open_options how;
    how.durability = durability::commit;
    how.memory_folder = at.memory;
    how.advise = false;
    return std::make_unique<chainbase_bank>(at.disk / "state", with_log_for_walks(how));
}

} // namespace chainbase::bench
