#include <pool_allocator/base/error.hpp>
#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/account_bytes.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

/// Wrappers of RocksDB calls: errors become exceptions, values are bytes.
namespace chainbase::bench {

inline void check(const rocksdb::Status& status, const char* what) {
    if (!status.ok()) throw error(std::string("rocksdb: ") + what + ": " + status.ToString());
}

template <typename T>
rocksdb::Slice slice_of(const T& value) noexcept {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <typename T>
T value_of(const rocksdb::Slice& bytes) noexcept {
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}

namespace {

/// Three column families: account by id, id by name, nothing by (balance, id). Each change is one
/// WriteBatch without the write-ahead log; creating looks the name up first, as a unique index
/// must.
class rocksdb_store {
public:
    using handle = std::uint64_t;

    explicit rocksdb_store(const store_options& options) {
        std::vector<rocksdb::ColumnFamilyDescriptor> families;
        for (const char* name : {"default", "by_name", "by_balance"})
            families.emplace_back(name, family_options());
        rocksdb::DBOptions settings;
        settings.create_if_missing = true;
        settings.create_missing_column_families = true;
        settings.max_background_jobs = 2;
        rocksdb::DB* opened = nullptr;
        std::vector<rocksdb::ColumnFamilyHandle*> handles;
        check(rocksdb::DB::Open(settings, (options.directory / "rocksdb").string(), families,
                                &handles, &opened),
              "open");
        db_.reset(opened);
        by_id_ = handles[0];
        by_name_ = handles[1];
        by_balance_ = handles[2];
        unlogged_.disableWAL = true;
    }
    ~rocksdb_store() {
        for (rocksdb::ColumnFamilyHandle* family : {by_id_, by_name_, by_balance_})
            db_->DestroyColumnFamilyHandle(family);
    }
    rocksdb_store(const rocksdb_store&) = delete;
    rocksdb_store& operator=(const rocksdb_store&) = delete;

    handle create(const account& value) {
        rocksdb::PinnableSlice taken;
        if (get(by_name_, slice_of(value.name), taken))
            throw duplicate_key_error("rocksdb: account " + std::to_string(value.id));
        batch_.Clear();
        batch_.Put(by_id_, slice_of(id_bytes(value.id)), slice_of(value));
        batch_.Put(by_name_, slice_of(value.name), slice_of(value.id));
        batch_.Put(by_balance_, slice_of(balance_bytes(value)), {});
        write();
        return value.id;
    }
    [[nodiscard]] handle handle_of(std::uint64_t id) const noexcept { return id; }

    template <typename Read>
    bool find_by_id(std::uint64_t id, Read&& read) const {
        rocksdb::PinnableSlice found;
        if (!get(by_id_, slice_of(id_bytes(id)), found)) return false;
        read(value_of<account>(found));
        return true;
    }
    template <typename Read>
    bool find_by_name(const account_name& name, Read&& read) const {
        rocksdb::PinnableSlice id;
        return get(by_name_, slice_of(name), id) && find_by_id(value_of<std::uint64_t>(id), read);
    }
    template <typename Read>
    void for_each_by_id(std::uint32_t limit, Read&& read) const {
        for_each_in(by_id_, limit,
                    [&](const rocksdb::Slice& value) { read(value_of<account>(value)); });
    }
    template <typename Read>
    void for_each_by_name(std::uint32_t limit, Read&& read) const {
        for_each_in(by_name_, limit, [&](const rocksdb::Slice& id) {
            find_by_id(value_of<std::uint64_t>(id), read);
        });
    }

    template <typename Write>
    void modify(handle id, Write&& change) {
        const account old = existing(id);
        account value = old;
        change(value);
        batch_.Clear();
        batch_.Put(by_id_, slice_of(id_bytes(id)), slice_of(value));
        if (value.name != old.name) {
            batch_.Delete(by_name_, slice_of(old.name));
            batch_.Put(by_name_, slice_of(value.name), slice_of(id));
        }
        if (value.balance != old.balance) {
            batch_.Delete(by_balance_, slice_of(balance_bytes(old)));
            batch_.Put(by_balance_, slice_of(balance_bytes(value)), {});
        }
        write();
    }
    void remove(handle id) {
        const account old = existing(id);
        batch_.Clear();
        batch_.Delete(by_id_, slice_of(id_bytes(id)));
        batch_.Delete(by_name_, slice_of(old.name));
        batch_.Delete(by_balance_, slice_of(balance_bytes(old)));
        write();
    }

    /// Current sorted files and memtables, including data that awaits compaction.
    [[nodiscard]] std::uint64_t held_bytes() const {
        return sum_of(rocksdb::DB::Properties::kTotalSstFilesSize) +
               sum_of(rocksdb::DB::Properties::kSizeAllMemTables);
    }

private:
    static rocksdb::ColumnFamilyOptions family_options() {
        rocksdb::BlockBasedTableOptions table;
        table.block_cache = rocksdb::NewLRUCache(std::size_t{512} << 20);
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        rocksdb::ColumnFamilyOptions options;
        options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        options.compression = rocksdb::kNoCompression;
        return options;
    }

    bool get(rocksdb::ColumnFamilyHandle* family, const rocksdb::Slice& key,
             rocksdb::PinnableSlice& found) const {
        const rocksdb::Status status = db_->Get(reading_, family, key, &found);
        if (status.IsNotFound()) return false;
        check(status, "get");
        return true;
    }
    [[nodiscard]] account existing(std::uint64_t id) const {
        rocksdb::PinnableSlice found;
        if (!get(by_id_, slice_of(id_bytes(id)), found))
            throw not_found_error("rocksdb: account " + std::to_string(id));
        return value_of<account>(found);
    }
    void write() { check(db_->Write(unlogged_, &batch_), "write"); }

    template <typename Read>
    void for_each_in(rocksdb::ColumnFamilyHandle* family, std::uint32_t limit, Read&& read) const {
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(reading_, family));
        at->SeekToFirst();
        for (std::uint32_t i = 0; i < limit && at->Valid(); ++i, at->Next())
            read(at->value());
        check(at->status(), "iterate");
    }

    [[nodiscard]] std::uint64_t sum_of(const std::string& property) const {
        std::uint64_t sum = 0;
        for (rocksdb::ColumnFamilyHandle* family : {by_id_, by_name_, by_balance_}) {
            std::uint64_t value = 0;
            if (!db_->GetIntProperty(family, property, &value))
                throw error("rocksdb: no property " + property);
            sum += value;
        }
        return sum;
    }

    std::unique_ptr<rocksdb::DB> db_;
    rocksdb::ColumnFamilyHandle* by_id_ = nullptr;
    rocksdb::ColumnFamilyHandle* by_name_ = nullptr;
    rocksdb::ColumnFamilyHandle* by_balance_ = nullptr;
    rocksdb::ReadOptions reading_;
    rocksdb::WriteOptions unlogged_;
    rocksdb::WriteBatch batch_;
};

} // namespace

std::unique_ptr<account_engine> make_rocksdb_engine() {
    return make_account_engine<rocksdb_store>();
}

namespace {

/// Accounts by name, and before them the log of the bench `bank`; a block is a WriteBatch, which
/// goes to the write-ahead log.
class rocksdb_accounts final : public accounts_as_bytes<rocksdb_accounts>,
                               public bank_as_bytes<rocksdb_accounts> {
public:
    /// With `logged` false, blocks skip the write-ahead log.
    rocksdb_accounts(const std::filesystem::path& folder, bool sync, bool logged = true,
                     std::uint64_t cache_bytes = 0) {
        rocksdb::BlockBasedTableOptions table;
        table.block_cache =
            rocksdb::NewLRUCache(std::max<std::size_t>(cache_bytes, std::size_t{512} << 20));
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        rocksdb::Options options;
        options.create_if_missing = true;
        options.max_background_jobs = 2;
        options.compression = rocksdb::kNoCompression;
        options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, (folder / "rocksdb").string(), &opened), "open");
        db_.reset(opened);
        writing_.sync = sync;
        writing_.disableWAL = !logged;
    }

    std::uint64_t last_block() override {
        return value_of<std::uint64_t>(found_at(rocksdb::Slice(head)));
    }
    std::int64_t money() override {
        std::int64_t sum = 0;
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
        for (at->SeekToFirst(); at->Valid(); at->Next())
            if (at->key() != head) sum += value_of<crash_account>(at->value()).balance;
        check(at->status(), "iterate");
        return sum;
    }
    std::unique_ptr<bank_reader> reader() override { return std::make_unique<view>(*db_); }
    void close() override {
        found_.Reset(); // releases its block of the database
        check(db_->Close(), "close");
        db_.reset();
    }

private:
    friend accounts_as_bytes;
    friend bank_as_bytes;
    static constexpr std::uint32_t accounts_at_once = 10'000;
    static constexpr const char* head = "0"; // no letter, so no account's name

    /// A snapshot for each view.
    class view final : public bank_reader {
    public:
        explicit view(rocksdb::DB& db) : db_(db) {}

        std::int64_t look(std::span<const account_name> accounts) override {
            rocksdb::ManagedSnapshot now(&db_);
            const rocksdb::ReadOptions reading = in(now);
            std::int64_t sum = 0;
            for (const account_name& name : accounts) {
                rocksdb::PinnableSlice found;
                check(db_.Get(reading, db_.DefaultColumnFamily(), slice_of(name), &found), "get");
                sum += value_of<crash_account>(found).balance;
            }
            return sum;
        }
        bank_totals totals(bool with_log) override {
            rocksdb::ManagedSnapshot now(&db_);
            const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(in(now)));
            bank_totals sum;
            for (with_log ? at->SeekToFirst() : at->Seek(head); at->Valid(); at->Next())
                if (at->key().size() == sizeof(byte_key))
                    sum.add_entry(number_in(value_of<byte_key>(at->key())),
                                  value_of<bank_transfer>(at->value()));
                else
                    sum.add_account(value_of<account_name>(at->key()),
                                    value_of<crash_account>(at->value()).balance);
            check(at->status(), "iterate");
            return sum;
        }

    private:
        static rocksdb::ReadOptions in(rocksdb::ManagedSnapshot& now) {
            rocksdb::ReadOptions reading;
            reading.snapshot = now.snapshot();
            return reading;
        }

        rocksdb::DB& db_;
    };

    rocksdb::Slice found_at(const rocksdb::Slice& key) {
        found_.Reset();
        check(db_->Get({}, db_->DefaultColumnFamily(), key, &found_), "get");
        return found_;
    }
    void begin() { batch_.Clear(); }
    void commit() {
        for (const auto& [name, value] : changed_)
            put(name, value);
        changed_.clear();
        check(db_->Write(writing_, &batch_), "write");
    }
    crash_account get(const account_name& name) {
        return value_of<crash_account>(found_at(slice_of(name)));
    }
    void put(const account_name& name, const crash_account& value) {
        batch_.Put(slice_of(name), slice_of(value));
    }
    void put_new(const account_name& name, const crash_account& value) { put(name, value); }
    void put_at_once(const account_name& name, const crash_account& value) {
        check(db_->Put(writing_, slice_of(name), slice_of(value)), "put");
    }
    crash_account get_changed(const account_name& name) {
        const auto at = changed_.find(name);
        return at == changed_.end() ? get(name) : at->second;
    }
    void put_changed(const account_name& name, const crash_account& value) {
        changed_.insert_or_assign(name, value);
    }
    void put_entry(std::uint64_t number, const bank_transfer& entry) {
        batch_.Put(slice_of(id_bytes(number)), slice_of(entry));
    }
    void put_head(const std::uint64_t& number) {
        batch_.Put(rocksdb::Slice(head), slice_of(number));
    }

    std::unique_ptr<rocksdb::DB> db_;
    rocksdb::WriteOptions writing_;
    rocksdb::WriteBatch batch_;
    std::unordered_map<account_name, crash_account, account_name_hash> changed_; ///< in this batch
    rocksdb::PinnableSlice found_;
};

} // namespace

std::unique_ptr<crash_engine> open_rocksdb_sync(const crash_places& at) {
    return std::make_unique<rocksdb_accounts>(at.disk, true);
}

std::unique_ptr<crash_engine> open_rocksdb_nosync(const crash_places& at) {
    return std::make_unique<rocksdb_accounts>(at.disk, false);
}

std::unique_ptr<bank_engine> open_bank_rocksdb(const crash_places& at) {
    return std::make_unique<rocksdb_accounts>(at.disk, false);
}

std::unique_ptr<bank_engine> open_bank_rocksdb_sync(const crash_places& at) {
    return std::make_unique<rocksdb_accounts>(at.disk, true);
}

std::unique_ptr<large_engine> open_large_rocksdb(const large_places& at) {
    return std::make_unique<rocksdb_accounts>(at.folder, false, /*logged=*/false, at.cache_bytes);
}

} // namespace chainbase::bench
