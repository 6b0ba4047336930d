#include <pool_allocator/base/error.hpp>
#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/account_bytes.hpp>

#include <lmdb.h>

#include <cstring>
#include <string>
#include <utility>

/// Wrappers of LMDB calls: errors become exceptions, values are bytes.
namespace chainbase::bench {

inline void check(int code, const char* what) {
    if (code != MDB_SUCCESS) throw error(std::string("lmdb: ") + what + ": " + mdb_strerror(code));
}

/// The data may be at any even address, so it is copied out; the compiler keeps only what is read.
template <typename T>
T value_of(const MDB_val& bytes) noexcept {
    T value;
    std::memcpy(&value, bytes.mv_data, sizeof(T));
    return value;
}

namespace {

template <typename T>
MDB_val bytes_of(const T& value) noexcept {
    return {sizeof(T), const_cast<T*>(&value)};
}

/// Three B+trees in one environment: account by id, id by name, nothing by (balance, id).
///
/// A batch is a transaction; so is a session, whose undo is the abort; an inner session is a nested
/// transaction. Nested ones exclude MDB_WRITEMAP, so a store with sessions does not use it.
class lmdb_store {
public:
    using handle = std::uint64_t;

    /// When it ends, the previously open transaction is the current one again.
    class session {
    public:
        explicit session(lmdb_store& store) : store_(&store), outer_(store.txn_) { store.begin(0); }
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        ~session() {
            if (store_ != nullptr) undo();
        }
        void undo() { end()->abort(outer_); }
        void squash() { end()->squash(outer_); }
        void push() noexcept { store_ = nullptr; }

    private:
        lmdb_store* end() noexcept { return std::exchange(store_, nullptr); }

        lmdb_store* store_;
        MDB_txn* outer_;
    };

    explicit lmdb_store(const store_options& options) {
        check(mdb_env_create(&env_), "create");
        mdb_env_set_maxdbs(env_, 3);
        mdb_env_set_mapsize(env_, (std::size_t{256} << 20) + options.objects * std::size_t{2048});
        const unsigned flags =
            MDB_NOSYNC | MDB_NOMETASYNC | MDB_NOTLS | (options.sessions ? 0U : MDB_WRITEMAP);
        const int opened = mdb_env_open(env_, options.directory.c_str(), flags, 0600);
        if (opened != MDB_SUCCESS) mdb_env_close(env_);
        check(opened, "open");
        open_trees();
    }
    ~lmdb_store() {
        if (txn_ != nullptr) mdb_txn_abort(txn_);
        mdb_env_close(env_);
    }
    lmdb_store(const lmdb_store&) = delete;
    lmdb_store& operator=(const lmdb_store&) = delete;

    void begin_batch(access kind) { begin(kind == access::read ? MDB_RDONLY : 0); }
    void end_batch() { commit_current(nullptr); }

    handle create(const account& value) {
        put(by_id_, value.id, value, MDB_NOOVERWRITE | MDB_APPEND);
        put(by_name_, value.name, value.id, MDB_NOOVERWRITE);
        put_balance(value);
        return value.id;
    }
    [[nodiscard]] handle handle_of(std::uint64_t id) const noexcept { return id; }

    template <typename Read>
    bool find_by_id(std::uint64_t id, Read&& read) const {
        MDB_val found;
        if (!get(by_id_, id, found)) return false;
        read(value_of<account>(found));
        return true;
    }
    template <typename Read>
    bool find_by_name(const account_name& name, Read&& read) const {
        MDB_val id;
        return get(by_name_, name, id) && find_by_id(value_of<std::uint64_t>(id), read);
    }
    template <typename Read>
    void for_each_by_id(std::uint32_t limit, Read&& read) const {
        for_each_in(by_id_, limit, [&](const MDB_val& value) { read(value_of<account>(value)); });
    }
    template <typename Read>
    void for_each_by_name(std::uint32_t limit, Read&& read) const {
        for_each_in(by_name_, limit,
                    [&](const MDB_val& id) { find_by_id(value_of<std::uint64_t>(id), read); });
    }

    template <typename Write>
    void modify(handle id, Write&& write) {
        const account old = existing(id);
        account value = old;
        write(value);
        put(by_id_, id, value, 0);
        if (value.name != old.name) {
            drop(by_name_, old.name);
            put(by_name_, value.name, id, MDB_NOOVERWRITE);
        }
        if (value.balance != old.balance) {
            drop(by_balance_, balance_bytes(old));
            put_balance(value);
        }
    }
    void remove(handle id) {
        const account old = existing(id);
        drop(by_balance_, balance_bytes(old));
        drop(by_name_, old.name);
        drop(by_id_, id);
    }

    [[nodiscard]] session start_session() {
        ++revision_;
        return session(*this);
    }
    [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }
    /// At most one pushed session, since an outer transaction cannot be committed before an inner
    /// one.
    void commit(std::int64_t) { commit_current(nullptr); }

    /// The pages of the three trees; freed pages serve any tree and are not counted.
    [[nodiscard]] std::uint64_t held_bytes() {
        begin(MDB_RDONLY);
        std::uint64_t pages = 0;
        std::uint64_t page_bytes = 0;
        for (const MDB_dbi tree : {by_id_, by_name_, by_balance_}) {
            MDB_stat stat;
            check(mdb_stat(txn_, tree, &stat), "stat");
            pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
            page_bytes = stat.ms_psize;
        }
        commit_current(nullptr);
        return pages * page_bytes;
    }

private:
    void open_trees() {
        begin(0);
        check(mdb_dbi_open(txn_, "by_id", MDB_CREATE | MDB_INTEGERKEY, &by_id_), "open by_id");
        check(mdb_dbi_open(txn_, "by_name", MDB_CREATE, &by_name_), "open by_name");
        check(mdb_dbi_open(txn_, "by_balance", MDB_CREATE, &by_balance_), "open by_balance");
        commit_current(nullptr);
    }

    void begin(unsigned flags) {
        MDB_txn* inner = nullptr;
        check(mdb_txn_begin(env_, txn_, flags, &inner), "begin");
        txn_ = inner;
    }
    void abort(MDB_txn* outer) noexcept {
        mdb_txn_abort(std::exchange(txn_, outer));
        --revision_;
    }
    void squash(MDB_txn* outer) {
        commit_current(outer);
        --revision_;
    }
    void commit_current(MDB_txn* outer) {
        check(mdb_txn_commit(std::exchange(txn_, outer)), "commit");
    }

    template <typename Key>
    bool get(MDB_dbi tree, const Key& key, MDB_val& found) const {
        MDB_val key_bytes = bytes_of(key);
        const int code = mdb_get(txn_, tree, &key_bytes, &found);
        if (code == MDB_NOTFOUND) return false;
        check(code, "get");
        return true;
    }
    [[nodiscard]] account existing(std::uint64_t id) const {
        MDB_val found;
        if (!get(by_id_, id, found)) throw not_found_error("lmdb: account " + std::to_string(id));
        return value_of<account>(found);
    }
    template <typename Key, typename Value>
    void put(MDB_dbi tree, const Key& key, const Value& value, unsigned flags) {
        MDB_val key_bytes = bytes_of(key);
        MDB_val value_bytes = bytes_of(value);
        check(mdb_put(txn_, tree, &key_bytes, &value_bytes, flags), "put");
    }
    void put_balance(const account& value) {
        const auto key = balance_bytes(value);
        MDB_val key_bytes = bytes_of(key);
        MDB_val nothing{0, nullptr};
        check(mdb_put(txn_, by_balance_, &key_bytes, &nothing, MDB_NOOVERWRITE), "put balance");
    }
    template <typename Key>
    void drop(MDB_dbi tree, const Key& key) {
        MDB_val key_bytes = bytes_of(key);
        check(mdb_del(txn_, tree, &key_bytes, nullptr), "delete");
    }

    template <typename Read>
    void for_each_in(MDB_dbi tree, std::uint32_t limit, Read&& read) const {
        MDB_cursor* cursor = nullptr;
        check(mdb_cursor_open(txn_, tree, &cursor), "cursor");
        MDB_val key;
        MDB_val value;
        for (std::uint32_t i = 0; i < limit; ++i) {
            if (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) != MDB_SUCCESS) break;
            read(value);
        }
        mdb_cursor_close(cursor);
    }

    MDB_env* env_ = nullptr;
    MDB_txn* txn_ = nullptr;
    MDB_dbi by_id_ = 0;
    MDB_dbi by_name_ = 0;
    MDB_dbi by_balance_ = 0;
    std::int64_t revision_ = 0;
};

} // namespace

std::unique_ptr<account_engine> make_lmdb_engine() {
    return make_account_engine<lmdb_store>();
}

namespace {

/// One tree by name, one with the block's number, and one with the log of the bench `bank`. A block
/// is a transaction. With MDB_WRITEMAP a stray store in the process damages the database, and the
/// kernel writes pages at any time, so engines that are synced go without.
class lmdb_accounts final : public accounts_as_bytes<lmdb_accounts>,
                            public bank_as_bytes<lmdb_accounts> {
public:
    lmdb_accounts(const crash_places& at, unsigned flags) {
        check(mdb_env_create(&env_), "create");
        mdb_env_set_maxdbs(env_, 3);
        mdb_env_set_mapsize(env_, std::size_t{64} << 30);
        const int opened = mdb_env_open(env_, at.disk.c_str(), flags, 0600);
        if (opened != MDB_SUCCESS) mdb_env_close(std::exchange(env_, nullptr));
        check(opened, "open");
        begin();
        check(mdb_dbi_open(txn_, "accounts", MDB_CREATE, &accounts_), "open accounts");
        check(mdb_dbi_open(txn_, "head", MDB_CREATE, &head_), "open head");
        check(mdb_dbi_open(txn_, "log", MDB_CREATE | MDB_INTEGERKEY, &log_), "open log");
        commit();
    }
    ~lmdb_accounts() override { end(); }
    lmdb_accounts(const lmdb_accounts&) = delete;
    lmdb_accounts& operator=(const lmdb_accounts&) = delete;

    std::uint64_t last_block() override {
        begin();
        const auto number = value_at<std::uint64_t>(txn_, head_, 'h');
        commit();
        return number;
    }
    std::int64_t money() override {
        begin();
        std::int64_t sum = 0;
        for_each(txn_, accounts_, [&](const MDB_val&, const MDB_val& value) {
            sum += value_of<crash_account>(value).balance;
        });
        commit();
        return sum;
    }
    std::unique_ptr<bank_reader> reader() override { return std::make_unique<view>(*this); }
    void close() override {
        check(mdb_env_sync(env_, 1), "sync"); // NOSYNC leaves this to its user
        end();
    }

private:
    friend accounts_as_bytes;
    friend bank_as_bytes;
    static constexpr std::uint32_t accounts_at_once = UINT32_MAX;

    /// A transaction that reads, renewed for each view.
    class view final : public bank_reader {
    public:
        explicit view(const lmdb_accounts& of) : of_(of) {
            check(mdb_txn_begin(of.env_, nullptr, MDB_RDONLY, &txn_), "begin reading");
            mdb_txn_reset(txn_);
        }
        ~view() override { mdb_txn_abort(txn_); }
        view(const view&) = delete;
        view& operator=(const view&) = delete;

        std::int64_t look(std::span<const account_name> accounts) override {
            check(mdb_txn_renew(txn_), "renew");
            std::int64_t sum = 0;
            for (const account_name& name : accounts)
                sum += value_at<crash_account>(txn_, of_.accounts_, name).balance;
            mdb_txn_reset(txn_);
            return sum;
        }
        bank_totals totals(bool with_log) override {
            check(mdb_txn_renew(txn_), "renew");
            bank_totals sum;
            for_each(txn_, of_.accounts_, [&](const MDB_val& name, const MDB_val& value) {
                sum.add_account(value_of<account_name>(name),
                                value_of<crash_account>(value).balance);
            });
            if (with_log)
                for_each(txn_, of_.log_, [&](const MDB_val& number, const MDB_val& entry) {
                    sum.add_entry(value_of<std::uint64_t>(number), value_of<bank_transfer>(entry));
                });
            mdb_txn_reset(txn_);
            return sum;
        }

    private:
        const lmdb_accounts& of_;
        MDB_txn* txn_ = nullptr;
    };

    void end() noexcept {
        if (txn_) mdb_txn_abort(std::exchange(txn_, nullptr));
        if (env_) mdb_env_close(std::exchange(env_, nullptr));
    }
    void begin() { check(mdb_txn_begin(env_, nullptr, 0, &txn_), "begin"); }
    void commit() { check(mdb_txn_commit(std::exchange(txn_, nullptr)), "commit"); }

    template <typename Value, typename Key>
    static Value value_at(MDB_txn* txn, MDB_dbi tree, const Key& key) {
        MDB_val name = bytes_of(key);
        MDB_val value;
        check(mdb_get(txn, tree, &name, &value), "get");
        return value_of<Value>(value);
    }
    template <typename Read>
    static void for_each(MDB_txn* txn, MDB_dbi tree, Read&& read) {
        MDB_cursor* at = nullptr;
        check(mdb_cursor_open(txn, tree, &at), "cursor");
        MDB_val key;
        MDB_val value;
        while (mdb_cursor_get(at, &key, &value, MDB_NEXT) == MDB_SUCCESS)
            read(key, value);
        mdb_cursor_close(at);
    }
    template <typename Key, typename Value>
    void put_in(MDB_dbi tree, const Key& key, const Value& content, unsigned flags = 0) {
        MDB_val name = bytes_of(key);
        MDB_val value = bytes_of(content);
        check(mdb_put(txn_, tree, &name, &value, flags), "put");
    }
    crash_account get(const account_name& name) {
        return value_at<crash_account>(txn_, accounts_, name);
    }
    void put(const account_name& name, const crash_account& value) {
        put_in(accounts_, name, value);
    }
    void put_new(const account_name& name, const crash_account& value) { put(name, value); }
    void put_head(std::uint64_t number) { put_in(head_, 'h', number); }
    void put_entry(std::uint64_t number, const bank_transfer& entry) {
        put_in(log_, number, entry, MDB_APPEND);
    }

    MDB_env* env_ = nullptr;
    MDB_txn* txn_ = nullptr;
    MDB_dbi accounts_ = 0;
    MDB_dbi head_ = 0;
    MDB_dbi log_ = 0;
};

} // namespace

std::unique_ptr<crash_engine> open_lmdb_sync(const crash_places& at) {
    return std::make_unique<lmdb_accounts>(at, 0);
}

std::unique_ptr<crash_engine> open_lmdb_nosync(const crash_places& at) {
    return std::make_unique<lmdb_accounts>(at, MDB_NOSYNC);
}

std::unique_ptr<bank_engine> open_bank_lmdb(const crash_places& at) {
    return std::make_unique<lmdb_accounts>(at, MDB_NOSYNC | MDB_WRITEMAP);
}

std::unique_ptr<bank_engine> open_bank_lmdb_sync(const crash_places& at) {
    return std::make_unique<lmdb_accounts>(at, 0);
}

std::unique_ptr<large_engine> open_large_lmdb(const large_places& at) {
    return std::make_unique<lmdb_accounts>(crash_places{at.folder, {}},
                                           MDB_NOSYNC | MDB_WRITEMAP | MDB_NORDAHEAD);
}

} // namespace chainbase::bench
