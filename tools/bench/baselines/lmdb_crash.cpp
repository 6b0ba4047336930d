#include <tools/bench/baselines/lmdb_calls.hpp>
#include <tools/bench/crash_account.hpp>
#include <tools/bench/crash_engine.hpp>

#include <lmdb.h>

#include <cstring>
#include <string>
#include <utility>

namespace chainbase::bench {

namespace {

/// One tree by name, and one with the block's number. A block is a transaction. Without
/// MDB_WRITEMAP: with it a stray store in the process damages the database, and pages are written
/// whenever the kernel likes.
class lmdb_accounts final : public crash_engine {
public:
    lmdb_accounts(const crash_places& at, unsigned flags) {
        check(mdb_env_create(&env_), "create");
        mdb_env_set_maxdbs(env_, 2);
        mdb_env_set_mapsize(env_, std::size_t{64} << 30);
        const int opened = mdb_env_open(env_, at.disk.c_str(), flags, 0600);
        if (opened != MDB_SUCCESS) mdb_env_close(std::exchange(env_, nullptr));
        check(opened, "open");
        begin();
        check(mdb_dbi_open(txn_, "accounts", MDB_CREATE, &accounts_), "open accounts");
        check(mdb_dbi_open(txn_, "head", MDB_CREATE, &head_), "open head");
        commit();
    }
    ~lmdb_accounts() override { end(); }
    lmdb_accounts(const lmdb_accounts&) = delete;
    lmdb_accounts& operator=(const lmdb_accounts&) = delete;

    void fill(const crash_plan& plan) override {
        crash_account fresh;
        fresh.balance = crash_plan::money_each;
        begin();
        for (std::uint32_t i = 0; i < plan.accounts(); ++i)
            put(accounts_, crash_plan::name_of(i), fresh);
        put_head(0);
        commit();
    }
    void apply(std::uint64_t number, const crash_plan::block& payments) override {
        begin();
        pay(payments);
        put_head(number);
        commit();
    }
    void apply_half(std::uint64_t, const crash_plan::block& payments,
                    const std::function<void()>& stop) override {
        begin();
        pay(std::span(payments).first(payments.size() / 2));
        stop();
    }
    std::uint64_t last_block() override {
        begin();
        const auto number = get<std::uint64_t>(head_, 'h');
        commit();
        return number;
    }
    std::int64_t money() override {
        begin();
        MDB_cursor* at = nullptr;
        check(mdb_cursor_open(txn_, accounts_, &at), "cursor");
        std::int64_t sum = 0;
        MDB_val key;
        MDB_val value;
        while (mdb_cursor_get(at, &key, &value, MDB_NEXT) == MDB_SUCCESS)
            sum += value_of<crash_account>(value).balance;
        mdb_cursor_close(at);
        commit();
        return sum;
    }
    void close() override {
        check(mdb_env_sync(env_, 1), "sync"); // what NOSYNC leaves to its user
        end();
    }

private:
    void end() noexcept {
        if (txn_) mdb_txn_abort(std::exchange(txn_, nullptr));
        if (env_) mdb_env_close(std::exchange(env_, nullptr));
    }
    void begin() { check(mdb_txn_begin(env_, nullptr, 0, &txn_), "begin"); }
    void commit() { check(mdb_txn_commit(std::exchange(txn_, nullptr)), "commit"); }

    template <typename Value, typename Key>
    Value get(MDB_dbi tree, const Key& key) {
        MDB_val name{sizeof key, const_cast<Key*>(&key)};
        MDB_val value;
        check(mdb_get(txn_, tree, &name, &value), "get");
        return value_of<Value>(value);
    }
    template <typename Key, typename Value>
    void put(MDB_dbi tree, const Key& key, const Value& content) {
        MDB_val name{sizeof key, const_cast<Key*>(&key)};
        MDB_val value{sizeof content, const_cast<Value*>(&content)};
        check(mdb_put(txn_, tree, &name, &value, 0), "put");
    }
    void put_head(std::uint64_t number) { put(head_, 'h', number); }
    void add(std::uint32_t account, std::int64_t amount) {
        const account_name name = crash_plan::name_of(account);
        auto value = get<crash_account>(accounts_, name);
        value.balance += amount;
        put(accounts_, name, value);
    }
    void pay(std::span<const crash_plan::payment> payments) {
        for (const crash_plan::payment& one : payments) {
            add(one.from, -1);
            add(one.to, 1);
        }
    }

    MDB_env* env_ = nullptr;
    MDB_txn* txn_ = nullptr;
    MDB_dbi accounts_ = 0;
    MDB_dbi head_ = 0;
};

} // namespace

std::unique_ptr<crash_engine> open_lmdb_sync(const crash_places& at) {
    return std::make_unique<lmdb_accounts>(at, 0);
}

std::unique_ptr<crash_engine> open_lmdb_nosync(const crash_places& at) {
    return std::make_unique<lmdb_accounts>(at, MDB_NOSYNC);
}

} // namespace chainbase::bench
