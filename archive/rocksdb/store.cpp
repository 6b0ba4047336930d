// What lies where in RocksDB:
//
//     default                  table/NAME -> key names, one per line
//     table/NAME               rows, the entries of its keys, their count: rocksdb/key.hpp
//
// A batch of the store is one WriteBatch of RocksDB, or a set of sorted files if it is large,
// counts included.
//
// Rows lie under their ids, and a key leads to the id. Under their first key instead, which would
// save lookups by that key one of two reads, they took 21 % more CPU and 28 % more bytes to write
// (ids rise, so rows are merged little; keys come in any order), lookups by id would have two
// reads, and a walk through all rows by id, as a digest makes it, one random read a row: 12 us in
// place of 0.5 with everything cached. What was found lately is found with one read all the same:
// archive/rocksdb/row_cache.hpp.

#include <archive/batch_plan.hpp>
#include <archive/record/integers.hpp>
#include <archive/rocksdb/database.hpp>
#include <archive/rocksdb/key.hpp>
#include <archive/rocksdb/row_cache.hpp>
#include <archive/rocksdb/store.hpp>
#include <archive/write_batch.hpp>
#include <pool_allocator/base/error.hpp>

#include <rocksdb/snapshot.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>

namespace chainbase::archive {

namespace {

using detail::check_status;
using family_handle = detail::rocksdb_database::family_handle;

using detail::ids_bytes;
using detail::rocksdb_key;
using detail::slice;
using detail::view;

/// What keeps a value in place: the block it lies in, and the cache that block belongs to, which
/// may otherwise be gone with the store. Destroyed in that order.
struct pinned_value {
    std::shared_ptr<rocksdb::Cache> cache;
    rocksdb::PinnableSlice value;
};

} // namespace

struct rocksdb_store::parts {
    struct table {
        std::string name;
        family_handle family;
        std::vector<std::string> key_names;
        std::optional<std::uint64_t> first_unused; ///< see detail::current_state; once it was asked
    };

    parts(const std::filesystem::path& folder, const store_options& options)
        : database(folder, options), hints(database.hint_bytes()), lately_read(database.cache()),
          ingest_rows(options.ingest_rows) {}

    // --- tables ---

    [[nodiscard]] std::vector<table_description> load_catalogue() const {
        constexpr std::string_view prefix = "table/";
        std::vector<table_description> found;
        const std::unique_ptr<rocksdb::Iterator> at(database->NewIterator(rocksdb::ReadOptions()));
        for (at->Seek(slice(as_bytes(prefix))); at->Valid(); at->Next()) {
            const std::string_view name = as_text(view(at->key()));
            if (!name.starts_with(prefix)) break;
            table_description table{std::string(name.substr(prefix.size())), {}};
            std::string_view keys = as_text(view(at->value()));
            for (std::size_t end; (end = keys.find('\n')) != keys.npos; keys.remove_prefix(end + 1))
                table.key_names.emplace_back(keys.substr(0, end));
            found.push_back(std::move(table));
        }
        check_status(at->status(), [&] { return database.name() + ": read the list of tables"; });
        return found;
    }

    // False for a reader that opened while the table was being made: it was not there yet.
    [[nodiscard]] bool add_existing(const table_description& description) {
        const std::string& name = description.name;
        const family_handle family = database.family("table/" + name);
        if (!family && !database.read_only())
            fail_damaged(database.name() + ": table \"" + name + "\" lacks its column family");
        if (family) tables.push_back({name, family, description.key_names, {}});
        return family != nullptr;
    }

    // The family first, the catalogue last: what a crash leaves is a family that the next call
    // uses.
    void add_new(const table_description& description) {
        const std::string& name = description.name;
        if (description.key_names.size() > rocksdb_key::most_keys)
            throw usage_error(database.name() + ": table \"" + name + "\" would have " +
                              std::to_string(description.key_names.size()) + " keys; at most " +
                              std::to_string(rocksdb_key::most_keys) + " are possible");
        const family_handle family = database.make_family("table/" + name);
        std::string keys;
        for (const std::string& key : description.key_names)
            keys += key + "\n";
        const std::array<std::byte, 8> zero{};
        rocksdb::WriteBatch batch;
        batch.Put("table/" + name, keys);
        batch.Put(family, rocksdb_key::of_count(), slice(zero));
        write(batch, true);
        tables.push_back({name, family, description.key_names, {}});
    }

    // --- reading ---

    [[nodiscard]] std::optional<pinned_row> stored(table_id table, std::uint32_t id,
                                                   const rocksdb::ReadOptions& how) const {
        rocksdb::PinnableSlice value;
        const auto status =
            database->Get(how, tables[table.value].family, rocksdb_key::of_row(id), &value);
        if (status.IsNotFound()) return std::nullopt;
        check_status(status, [&] { return at(table, id); });
        const auto held =
            std::make_shared<const pinned_value>(pinned_value{database.cache(), std::move(value)});
        return pinned_row(id, view(held->value), held);
    }

    [[nodiscard]] bytes_view record_of(table_id table, std::uint32_t id, bytes_view row) const {
        const auto record = detail::record_of(row);
        if (!record) fail_damaged(at(table, id) + ": the row is malformed");
        return *record;
    }

    [[nodiscard]] std::optional<pinned_row> row(table_id table, std::uint32_t id,
                                                const rocksdb::ReadOptions& how) const {
        auto row = how.snapshot ? stored(table, id, how) : cached(table, id);
        if (row) row->narrow(record_of(table, id, row->record()));
        return row;
    }

    [[nodiscard]] std::uint32_t id_of(bytes_view bytes, table_id table,
                                      std::string_view what) const {
        if (bytes.size() != sizeof(std::uint32_t))
            fail_damaged(at(table) + ": " + std::string(what) + " has an id of " +
                         std::to_string(bytes.size()) + " bytes");
        return detail::load_big<std::uint32_t>(bytes.data());
    }

    [[nodiscard]] row_ids ids_of(bytes_view bytes, table_id table) const {
        constexpr std::size_t size = sizeof(std::uint32_t);
        if (bytes.empty() || bytes.size() % size != 0)
            fail_damaged(at(table) + ": a key entry has ids of " + std::to_string(bytes.size()) +
                         " bytes");
        row_ids ids;
        for (; !bytes.empty(); bytes = bytes.subspan(size))
            ids.push_back(detail::load_big<std::uint32_t>(bytes.data()));
        return ids;
    }

    [[nodiscard]] row_ids owners(table_id table, std::uint32_t index, bytes_view key,
                                 const rocksdb::ReadOptions& how) const {
        rocksdb::PinnableSlice value;
        const auto status =
            database->Get(how, tables[table.value].family, rocksdb_key::of_key(index, key), &value);
        if (status.IsNotFound()) return {};
        check_status(status, [&] { return at(table, index, key); });
        return ids_of(view(value), table);
    }

    [[nodiscard]] std::optional<pinned_row> row(table_id table, std::uint32_t index, bytes_view key,
                                                const row_predicate& counts,
                                                const rocksdb::ReadOptions& how) {
        const std::uint64_t seen = lately_read.changes();
        const row_ids all = owners(table, index, key, how);
        const auto id = std::ranges::find_if(all, std::cref(counts));
        if (id == all.end()) return std::nullopt;
        auto found = row(table, *id, how);
        if (found && all.size() == 1 && how.snapshot == nullptr)
            lately_read.unless_changed(
                seen, [&] { hints.remember(hints.hash(table.value, index, key), *id); });
        if (found) return found;
        // The row may have been erased between the two reads, and only reads of one instant tell. A
        // read-only store stands still, so there one look is enough.
        if (how.snapshot == nullptr && !database.read_only()) {
            rocksdb::ManagedSnapshot instant(&*database);
            rocksdb::ReadOptions then;
            then.snapshot = instant.snapshot();
            return row(table, index, key, counts, then);
        }
        fail_damaged(at(table, index, key) + ": leads to row " + std::to_string(*id) +
                     ", which is missing");
    }

    // As stored(), of now.
    [[nodiscard]] std::optional<pinned_row> cached(table_id table, std::uint32_t id) const {
        if (auto row = lately_read.find(table, id)) return row;
        const std::uint64_t seen = lately_read.changes();
        auto row = stored(table, id, rocksdb::ReadOptions());
        if (row) lately_read.remember(table, id, row->record(), seen);
        return row;
    }

    // A batch that takes a key away rewrites or erases the row that had it, so a row that has the
    // key is one that it leads to; and only keys that lead to one row are hinted.
    [[nodiscard]] std::optional<pinned_row>
    hinted(table_id table, std::uint32_t index, bytes_view key, const row_predicate& counts) const {
        const auto id = hints.find(hints.hash(table.value, index, key));
        if (!id || !counts(*id)) return std::nullopt;
        auto found = cached(table, *id);
        if (!found || !detail::has_key(found->record(), {index, key})) return std::nullopt;
        found->narrow(record_of(table, *id, found->record()));
        return found;
    }

    [[nodiscard]] std::optional<pinned_row> find(table_id table, std::uint32_t index,
                                                 bytes_view key, const row_predicate& counts) {
        if (auto found = hinted(table, index, key, counts)) return found;
        return row(table, index, key, counts, rocksdb::ReadOptions());
    }

    [[nodiscard]] std::uint64_t count(table_id table) const {
        rocksdb::PinnableSlice value;
        check_status(database->Get(rocksdb::ReadOptions(), tables[table.value].family,
                                   rocksdb_key::of_count(), &value),
                     [&] { return at(table) + ": read its count"; });
        if (value.size() != sizeof(std::uint64_t))
            fail_damaged(at(table) + ": its count is malformed");
        return detail::load_little<std::uint64_t>(view(value).data());
    }

    [[nodiscard]] std::uint64_t first_unused(table_id table) const {
        const rocksdb_key last = rocksdb_key::of_row(UINT32_MAX);
        const std::unique_ptr<rocksdb::Iterator> found(
            database->NewIterator(rocksdb::ReadOptions(), tables[table.value].family));
        found->SeekForPrev(last);
        check_status(found->status(), [&] { return at(table) + ": look for its last row"; });
        if (!found->Valid()) return 0;
        return std::uint64_t{id_of(rocksdb_key::content(found->key()), table, "a row")} + 1;
    }

    // --- writing ---

    void carry_out(const detail::batch_plan& plan) {
        if (plan.rows().empty()) return;
        if (plan.replaces()) {
            detail::rocksdb_row_cache::change of(lately_read);
            write_out(plan);
            for (const auto& row : plan.rows())
                of.forget({row.table}, row.id);
            for (const auto& key : plan.keys())
                hints.forget(hints.hash(key.table, key.index, key.key));
        } else {
            write_out(plan);
        }
        for (const auto& row : plan.rows())
            if (auto& first = tables[row.table].first_unused; first && *first <= row.id)
                first = std::uint64_t{row.id} + 1;
    }

    void write_out(const detail::batch_plan& plan) {
        if (plan.rows().size() >= ingest_rows) return ingest(plan);
        rocksdb::WriteBatch batch(plan.bytes * 2); // keys stand in rows and for themselves
        fill(batch, plan);
        write(batch, false);
    }

    [[nodiscard]] std::uint64_t grown(std::uint32_t table, const detail::batch_plan& plan) const {
        return count({table}) + static_cast<std::uint64_t>(plan.growth().at(table));
    }

    void fill(rocksdb::WriteBatch& batch, const detail::batch_plan& plan) const {
        for (const auto& [table, id, row] : plan.rows()) {
            const family_handle family = tables[table].family;
            const rocksdb_key key = rocksdb_key::of_row(id);
            row ? batch.Put(family, key, slice(*row)) : batch.Delete(family, key);
        }
        for (const auto& change : plan.keys()) {
            const family_handle family = tables[change.table].family;
            const rocksdb_key key = rocksdb_key::of_key(change.index, change.key);
            change.rows.empty() ? batch.Delete(family, key)
                                : batch.Put(family, key, ids_bytes(change.rows));
        }
        for (const auto& growth : plan.growth()) {
            std::array<std::byte, 8> total;
            detail::store_little(total.data(), grown(growth.first, plan));
            batch.Put(tables[growth.first].family, rocksdb_key::of_count(), slice(total));
        }
    }

    // One file a table. Rows and keys apart would only be synced apart: objects finish in another
    // order than that of their ids, so rows are merged as keys are.
    void ingest(const detail::batch_plan& plan) {
        detail::rocksdb_ingest files(database);
        auto row = plan.rows().begin();
        auto key = plan.keys().begin();
        while (row != plan.rows().end()) {
            const std::uint32_t table = row->table;
            const family_handle family = tables[table].family;
            files.begin(family);
            for (; row != plan.rows().end() && row->table == table; ++row) {
                const rocksdb_key at = rocksdb_key::of_row(row->id);
                row->row ? files.put(at, slice(*row->row)) : files.erase(at);
            }
            for (; key != plan.keys().end() && key->table == table; ++key) {
                const rocksdb_key at = rocksdb_key::of_key(key->index, key->key);
                key->rows.empty() ? files.erase(at) : files.put(at, ids_bytes(key->rows));
            }
            if (!plan.growth().contains(table)) continue;
            std::array<std::byte, 8> total;
            detail::store_little(total.data(), grown(table, plan));
            files.put(rocksdb_key::of_count(), slice(total));
        }
        ingested_bytes += files.finish();
    }

    void write(rocksdb::WriteBatch& batch, bool sync) {
        check_status(database.write(batch, sync), [&] {
            return database.name() + ": write a batch of " + std::to_string(batch.Count()) +
                   " entries";
        });
    }

    [[nodiscard]] std::string at(table_id table) const {
        return database.name() + ": table \"" + tables[table.value].name + "\"";
    }
    [[nodiscard]] std::string at(table_id table, std::uint32_t id) const {
        return at(table) + ", id " + std::to_string(id);
    }
    [[nodiscard]] std::string at(table_id table, std::uint32_t index, bytes_view key) const {
        return at(table) + ", key " + tables[table.value].key_names[index] + " = " +
               detail::printable(key);
    }
    [[noreturn]] void fail_damaged(const std::string& what) const {
        throw damaged_error(what + "; restore the archive from a backup or rebuild it by a replay");
    }
    void require_writable() const {
        database.require_here();
        if (database.read_only())
            throw usage_error(database.name() +
                              " is open read-only; open it for writing to change it");
    }

    detail::rocksdb_database database;
    detail::rocksdb_key_hints hints;
    detail::rocksdb_row_cache lately_read;
    std::size_t ingest_rows;
    std::atomic<std::uint64_t> ingested_bytes{0};
    std::vector<table> tables;
    std::mutex writing; // batches are planned against what the one before left
};

class rocksdb_store::state final : public detail::current_state {
public:
    explicit state(parts& of) : parts_(of) {}

    std::optional<pinned_row> stored(table_id table, std::uint32_t id) const override {
        return parts_.stored(table, id, rocksdb::ReadOptions());
    }
    row_ids owners(table_id table, std::uint32_t index, bytes_view key) const override {
        return parts_.owners(table, index, key, rocksdb::ReadOptions());
    }
    std::uint64_t first_unused(table_id table) const override {
        auto& first = parts_.tables[table.value].first_unused;
        if (!first) first = parts_.first_unused(table);
        return *first;
    }

private:
    parts& parts_;
};

// --- scanning ------------------------------------------------------------------------------------

/// A RocksDB iterator that throws instead of ending early.
class rocksdb_store::entries {
public:
    entries(const parts& of, table_id table, const rocksdb_key& from)
        : parts_(of), table_(table), end_(std::make_unique<end>(from.end_of_kind())) {
        rocksdb::ReadOptions how;
        how.fill_cache = false; // a scan would push out what lookups need
        how.iterate_upper_bound = &end_->bytes;
        at_.reset(of.database->NewIterator(how, of.tables[table.value].family));
        at_->Seek(from);
        check();
    }
    [[nodiscard]] bool valid() const { return at_->Valid(); }
    [[nodiscard]] bytes_view key() const { return rocksdb_key::content(at_->key()); }
    [[nodiscard]] std::uint32_t id_in_key() const { return parts_.id_of(key(), table_, "a row"); }
    [[nodiscard]] row_ids ids_in_value() const { return parts_.ids_of(view(at_->value()), table_); }
    [[nodiscard]] bytes_view stored() const { return view(at_->value()); }
    [[nodiscard]] bytes_view record() const {
        return parts_.record_of(table_, id_in_key(), stored());
    }
    void next() {
        at_->Next();
        check();
    }

private:
    void check() const {
        if (!at_->Valid())
            check_status(at_->status(), [&] { return parts_.at(table_) + ": scan"; });
    }

    struct end {
        explicit end(std::string last) : key(std::move(last)), bytes(key) {}
        std::string key;
        rocksdb::Slice bytes;
    };

    const parts& parts_;
    table_id table_;
    std::unique_ptr<end> end_; // where it is, RocksDB keeps
    std::unique_ptr<rocksdb::Iterator> at_;
};

class rocksdb_store::row_entries final : public row_cursor_source {
public:
    explicit row_entries(entries all) : entries_(std::move(all)) {}
    bool valid() const override { return entries_.valid(); }
    std::uint32_t id() const override { return entries_.id_in_key(); }
    bytes_view record() const override { return entries_.record(); }
    bytes_view stored() const override { return entries_.stored(); }
    void next() override { entries_.next(); }

private:
    entries entries_;
};

class rocksdb_store::key_entries final : public key_cursor_source {
public:
    explicit key_entries(entries all) : entries_(std::move(all)) { read_ids(); }
    bool valid() const override { return entries_.valid(); }
    bytes_view key() const override { return entries_.key(); }
    std::uint32_t id() const override { return ids_[at_]; }
    void next() override {
        if (++at_ < ids_.size()) return;
        entries_.next();
        read_ids();
    }

private:
    void read_ids() {
        at_ = 0;
        if (entries_.valid()) ids_ = entries_.ids_in_value();
    }

    entries entries_;
    row_ids ids_; ///< that the key leads to
    std::size_t at_ = 0;
};

// --- the store -----------------------------------------------------------------------------------

rocksdb_store::rocksdb_store(const std::filesystem::path& folder, const store_options& options)
    : parts_(std::make_unique<parts>(folder, options)) {
    for (table_description& table : parts_->load_catalogue())
        if (parts_->add_existing(table)) add_existing_table(std::move(table));
}

rocksdb_store::~rocksdb_store() {
    leave_states();
}

bool rocksdb_store::has_to_sync() const noexcept {
    return !parts_->database.read_only();
}

std::string rocksdb_store::name() const {
    return parts_->database.name();
}

void rocksdb_store::create_table(const table_description& table) {
    parts_->require_writable();
    parts_->add_new(table);
}

store::write_totals rocksdb_store::apply(const write_batch& batch) {
    parts_->require_writable();
    const std::lock_guard lock(parts_->writing);
    const state current(*parts_);
    const detail::batch_plan plan(*this, current, batch);
    parts_->carry_out(plan);
    return {plan.put, plan.unchanged, plan.erased, plan.bytes, plan.record_bytes};
}

std::optional<pinned_row> rocksdb_store::read(table_id table, std::uint32_t id) const {
    return parts_->row(table, id, rocksdb::ReadOptions());
}

std::optional<pinned_row> rocksdb_store::read(table_id table, std::uint32_t index, bytes_view key,
                                              const row_predicate& counts) const {
    return parts_->find(table, index, key, counts);
}

std::uint64_t rocksdb_store::row_count(table_id table) const {
    return parts_->count(table);
}

std::unique_ptr<row_cursor_source> rocksdb_store::scan(table_id table, std::uint32_t from) const {
    return std::make_unique<row_entries>(entries(*parts_, table, rocksdb_key::of_row(from)));
}

std::unique_ptr<key_cursor_source> rocksdb_store::scan(table_id table, std::uint32_t index,
                                                       bytes_view from) const {
    return std::make_unique<key_entries>(entries(*parts_, table, rocksdb_key::of_key(index, from)));
}

void rocksdb_store::each_stored(table_id table,
                                const std::function<void(std::uint32_t, bytes_view)>& visit) const {
    for (entries all(*parts_, table, rocksdb_key::of_row(0)); all.valid(); all.next())
        visit(all.id_in_key(), all.stored());
}

void rocksdb_store::verify_files() const {
    check_status(parts_->database->VerifyChecksum(),
                 [&] { return parts_->database.name() + ": read all of its files"; });
}

rocksdb_statistics rocksdb_store::engine() const {
    const auto counted = [&](rocksdb::Tickers what) {
        return parts_->database.counters().getTickerCount(what);
    };
    const auto now = [&](const std::string& property) {
        std::uint64_t sum = 0;
        parts_->database->GetAggregatedIntProperty(property, &sum);
        return sum;
    };
    using properties = rocksdb::DB::Properties;
    return {
        .row_hits = parts_->lately_read.hits(),
        .block_hits = counted(rocksdb::BLOCK_CACHE_DATA_HIT),
        .block_misses = counted(rocksdb::BLOCK_CACHE_DATA_MISS),
        .filter_hits = counted(rocksdb::BLOOM_FILTER_USEFUL),
        .filter_misses = counted(rocksdb::BLOOM_FILTER_FULL_POSITIVE) -
                         counted(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE),
        .log_bytes = counted(rocksdb::WAL_FILE_BYTES),
        .flushed_bytes = counted(rocksdb::FLUSH_WRITE_BYTES),
        .ingested_bytes = parts_->ingested_bytes,
        .compacted_bytes = counted(rocksdb::COMPACT_WRITE_BYTES),
        .merges = now(properties::kNumRunningCompactions) + now(properties::kCompactionPending),
        .stalled_us = counted(rocksdb::STALL_MICROS),
        .cache_bytes = parts_->database.cache()->GetUsage(),
        .reader_bytes = now(properties::kEstimateTableReadersMem),
        .buffer_bytes = now(properties::kCurSizeAllMemTables),
        .hint_bytes = parts_->database.hint_bytes(),
        .files = detail::table_files(parts_->database),
        .file_bytes = now(properties::kTotalSstFilesSize),
    };
}

rocksdb_facts rocksdb_store::facts() const {
    return detail::facts_of(parts_->database);
}

void rocksdb_store::make_durable(bool empty_buffers) {
    parts_->require_writable();
    empty_buffers ? parts_->database.flush() : parts_->database.sync();
}

} // namespace chainbase::archive
