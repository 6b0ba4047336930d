#include <tools/bench/baselines/rocksdb_calls.hpp>
#include <tools/bench/crash_account.hpp>
#include <tools/bench/crash_engine.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <cstring>
#include <memory>
#include <string>

namespace chainbase::bench {

namespace {

/// Accounts by name; a block is a WriteBatch, which goes to the write-ahead log.
class rocksdb_accounts final : public crash_engine {
public:
    rocksdb_accounts(const crash_places& at, bool sync) {
        rocksdb::BlockBasedTableOptions table;
        table.block_cache = rocksdb::NewLRUCache(std::size_t{512} << 20);
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        rocksdb::Options options;
        options.create_if_missing = true;
        options.max_background_jobs = 2;
        options.compression = rocksdb::kNoCompression;
        options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, (at.disk / "rocksdb").string(), &opened), "open");
        db_.reset(opened);
        writing_.sync = sync;
    }

    void fill(const crash_plan& plan) override {
        crash_account fresh;
        fresh.balance = crash_plan::money_each;
        rocksdb::WriteBatch batch;
        for (std::uint32_t i = 0; i < plan.accounts(); ++i) {
            batch.Put(slice_of(crash_plan::name_of(i)), slice_of(fresh));
            if (batch.Count() < 10'000) continue;
            write(batch);
            batch.Clear();
        }
        put_head(batch, 0);
        write(batch);
    }
    void apply(std::uint64_t number, const crash_plan::block& payments) override {
        rocksdb::WriteBatch batch;
        pay(batch, payments);
        put_head(batch, number);
        write(batch);
    }
    void apply_half(std::uint64_t, const crash_plan::block& payments,
                    const std::function<void()>& stop) override {
        rocksdb::WriteBatch batch;
        pay(batch, std::span(payments).first(payments.size() / 2));
        stop();
    }
    std::uint64_t last_block() override {
        return value_of<std::uint64_t>(get(rocksdb::Slice(head)));
    }
    std::int64_t money() override {
        std::int64_t sum = 0;
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
        for (at->SeekToFirst(); at->Valid(); at->Next())
            if (at->key() != head) sum += value_of<crash_account>(at->value()).balance;
        check(at->status(), "iterate");
        return sum;
    }
    void close() override {
        found_.Reset(); // which is a part of a block of the database
        check(db_->Close(), "close");
        db_.reset();
    }

private:
    static constexpr const char* head = "0"; // no letter, so no name of an account

    rocksdb::Slice get(const rocksdb::Slice& key) {
        found_.Reset();
        check(db_->Get({}, db_->DefaultColumnFamily(), key, &found_), "get");
        return found_;
    }
    void write(rocksdb::WriteBatch& batch) { check(db_->Write(writing_, &batch), "write"); }
    static void put_head(rocksdb::WriteBatch& batch, const std::uint64_t& number) {
        batch.Put(rocksdb::Slice(head), slice_of(number));
    }
    void add(rocksdb::WriteBatch& batch, std::uint32_t account, std::int64_t amount) {
        const account_name name = crash_plan::name_of(account);
        auto value = value_of<crash_account>(get(slice_of(name)));
        value.balance += amount;
        batch.Put(slice_of(name), slice_of(value));
    }
    void pay(rocksdb::WriteBatch& batch, std::span<const crash_plan::payment> payments) {
        for (const crash_plan::payment& one : payments) {
            add(batch, one.from, -1);
            add(batch, one.to, 1);
        }
    }

    std::unique_ptr<rocksdb::DB> db_;
    rocksdb::WriteOptions writing_;
    rocksdb::PinnableSlice found_;
};

} // namespace

std::unique_ptr<crash_engine> open_rocksdb_sync(const crash_places& at) {
    return std::make_unique<rocksdb_accounts>(at, true);
}

std::unique_ptr<crash_engine> open_rocksdb_nosync(const crash_places& at) {
    return std::make_unique<rocksdb_accounts>(at, false);
}

} // namespace chainbase::bench
