// What lies where in RocksDB:
//
//     default                  table/NAME -> key names, one per line
//                              count/NAME -> rows in the table, u64 little-endian
//     rows/NAME                id, u32 big-endian -> stored row (detail/stored_row.hpp)
//     keys/NAME/KEY            key bytes -> id, u32 big-endian
//
// A batch of the store is one WriteBatch of RocksDB, counts included.

#include <archive/detail/batch_plan.hpp>
#include <archive/detail/integers.hpp>
#include <archive/detail/rocksdb_database.hpp>
#include <archive/detail/rocksdb_status.hpp>
#include <archive/detail/stored_row.hpp>
#include <archive/rocksdb_store.hpp>
#include <pool_allocator/error.hpp>

#include <rocksdb/snapshot.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <mutex>

namespace chainbase::archive {

namespace {

using detail::check_status;
using family_handle = detail::rocksdb_database::family_handle;

rocksdb::Slice slice(bytes_view bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bytes_view view(const rocksdb::Slice& slice) {
    return as_bytes(std::string_view(slice.data(), slice.size()));
}

/// An id as it stands in RocksDB: big-endian, so that rows lie in the order of ids.
class id_bytes {
public:
    explicit id_bytes(std::uint32_t id) { detail::store_big(bytes_.data(), id); }
    operator rocksdb::Slice() const { return slice(bytes_); }

private:
    std::array<std::byte, sizeof(std::uint32_t)> bytes_;
};

/// What keeps a value in place: the block it lies in, and the cache that block belongs to, which
/// may otherwise be gone with the store. Destroyed in that order.
struct pin {
    std::shared_ptr<rocksdb::Cache> cache;
    rocksdb::PinnableSlice value;
};

} // namespace

struct rocksdb_store::parts {
    struct table {
        std::string name;
        family_handle rows;
        std::vector<std::string> key_names;
        std::vector<family_handle> keys;
    };

    parts(const std::filesystem::path& folder, const store_options& options)
        : database(folder, options) {}

    [[nodiscard]] std::vector<table_description> load_catalogue() const;
    [[nodiscard]] bool add_existing(const table_description& description);
    void add_new(const table_description& description);

    [[nodiscard]] std::optional<pinned_row> stored(table_id table, std::uint32_t id,
                                                   const rocksdb::ReadOptions& how) const;
    [[nodiscard]] std::optional<pinned_row> row(table_id table, std::uint32_t id,
                                                const rocksdb::ReadOptions& how) const;
    [[nodiscard]] std::optional<std::uint32_t> owner(table_id table, std::uint32_t index,
                                                     bytes_view key,
                                                     const rocksdb::ReadOptions& how) const;
    [[nodiscard]] std::optional<pinned_row> row(table_id table, std::uint32_t index, bytes_view key,
                                                const rocksdb::ReadOptions& how) const;
    [[nodiscard]] bytes_view record_of(table_id table, std::uint32_t id, bytes_view row) const;
    [[nodiscard]] std::uint32_t id_of(const rocksdb::Slice& bytes, table_id table,
                                      std::string_view what) const;
    [[nodiscard]] std::uint64_t count(table_id table) const;
    void fill(rocksdb::WriteBatch& batch, const detail::batch_plan& plan) const;
    void write(rocksdb::WriteBatch& batch, bool sync);

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
        if (database.read_only())
            throw usage_error(database.name() +
                              " is open read-only; open it for writing to change it");
    }

    detail::rocksdb_database database;
    std::vector<table> tables;
    std::mutex writing; // batches are planned against what the one before left
};

// --- tables --------------------------------------------------------------------------------------

std::vector<table_description> rocksdb_store::parts::load_catalogue() const {
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
bool rocksdb_store::parts::add_existing(const table_description& description) {
    const std::string& name = description.name;
    table made{name, database.family("rows/" + name), description.key_names, {}};
    bool complete = made.rows != nullptr;
    for (const std::string& key : description.key_names) {
        made.keys.push_back(database.family("keys/" + name + "/" + key));
        complete = complete && made.keys.back() != nullptr;
    }
    if (!complete && !database.read_only())
        fail_damaged(database.name() + ": table \"" + name + "\" lacks a column family");
    if (complete) tables.push_back(std::move(made));
    return complete;
}

// The families first, the catalogue last: what a crash leaves is families that the next call uses.
void rocksdb_store::parts::add_new(const table_description& description) {
    const std::string& name = description.name;
    table made{name, database.make_family("rows/" + name), description.key_names, {}};
    std::string keys;
    for (const std::string& key : description.key_names) {
        made.keys.push_back(database.make_family("keys/" + name + "/" + key));
        keys += key + "\n";
    }
    std::array<std::byte, 8> zero{};
    rocksdb::WriteBatch batch;
    batch.Put("table/" + name, keys);
    batch.Put("count/" + name, slice(zero));
    write(batch, true);
    tables.push_back(std::move(made));
}

// --- reading -------------------------------------------------------------------------------------

std::optional<pinned_row> rocksdb_store::parts::stored(table_id table, std::uint32_t id,
                                                       const rocksdb::ReadOptions& how) const {
    rocksdb::PinnableSlice value;
    const auto status = database->Get(how, tables[table.value].rows, id_bytes(id), &value);
    if (status.IsNotFound()) return std::nullopt;
    check_status(status, [&] { return at(table, id); });
    const auto held = std::make_shared<const pin>(pin{database.cache(), std::move(value)});
    return pinned_row(id, view(held->value), held);
}

bytes_view rocksdb_store::parts::record_of(table_id table, std::uint32_t id, bytes_view row) const {
    const auto record = detail::record_of(row);
    if (!record) fail_damaged(at(table, id) + ": the row is malformed");
    return *record;
}

std::optional<pinned_row> rocksdb_store::parts::row(table_id table, std::uint32_t id,
                                                    const rocksdb::ReadOptions& how) const {
    auto row = stored(table, id, how);
    if (row) row->narrow(record_of(table, id, row->record()));
    return row;
}

std::uint32_t rocksdb_store::parts::id_of(const rocksdb::Slice& bytes, table_id table,
                                          std::string_view what) const {
    if (bytes.size() != sizeof(std::uint32_t))
        fail_damaged(at(table) + ": " + std::string(what) + " has an id of " +
                     std::to_string(bytes.size()) + " bytes");
    return detail::load_big<std::uint32_t>(view(bytes).data());
}

std::optional<std::uint32_t> rocksdb_store::parts::owner(table_id table, std::uint32_t index,
                                                         bytes_view key,
                                                         const rocksdb::ReadOptions& how) const {
    rocksdb::PinnableSlice value;
    const auto status = database->Get(how, tables[table.value].keys[index], slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    check_status(status, [&] { return at(table, index, key); });
    return id_of(value, table, "a key entry");
}

std::optional<pinned_row> rocksdb_store::parts::row(table_id table, std::uint32_t index,
                                                    bytes_view key,
                                                    const rocksdb::ReadOptions& how) const {
    const auto id = owner(table, index, key, how);
    if (!id) return std::nullopt;
    auto found = row(table, *id, how);
    if (found) return found;
    // The row may have been erased between the two reads, and only reads of one instant tell. A
    // read-only store stands still, so there one look is enough.
    if (how.snapshot == nullptr && !database.read_only()) {
        rocksdb::ManagedSnapshot instant(&*database);
        rocksdb::ReadOptions then;
        then.snapshot = instant.snapshot();
        return row(table, index, key, then);
    }
    fail_damaged(at(table, index, key) + ": leads to row " + std::to_string(*id) +
                 ", which is missing");
}

std::uint64_t rocksdb_store::parts::count(table_id table) const {
    std::string value;
    check_status(database->Get(rocksdb::ReadOptions(), "count/" + tables[table.value].name, &value),
                 [&] { return at(table) + ": read its count"; });
    if (value.size() != sizeof(std::uint64_t)) fail_damaged(at(table) + ": its count is malformed");
    return detail::load_little<std::uint64_t>(as_bytes(value).data());
}

// --- writing -------------------------------------------------------------------------------------

void rocksdb_store::parts::fill(rocksdb::WriteBatch& batch, const detail::batch_plan& plan) const {
    for (const auto& [place, row] : plan.rows()) {
        const family_handle rows = tables[place.table].rows;
        const id_bytes id(place.id);
        row ? batch.Put(rows, id, slice(*row)) : batch.Delete(rows, id);
    }
    for (const auto& [place, id] : plan.keys()) {
        const family_handle keys = tables[place.table].keys[place.index];
        id ? batch.Put(keys, slice(place.key), id_bytes(*id))
           : batch.Delete(keys, slice(place.key));
    }
    for (const auto& [table, growth] : plan.growth()) {
        std::array<std::byte, 8> total;
        detail::store_little(total.data(), count({table}) + static_cast<std::uint64_t>(growth));
        batch.Put("count/" + tables[table].name, slice(total));
    }
}

void rocksdb_store::parts::write(rocksdb::WriteBatch& batch, bool sync) {
    check_status(database.write(batch, sync), [&] {
        return database.name() + ": write a batch of " + std::to_string(batch.Count()) + " entries";
    });
}

class rocksdb_store::state final : public detail::current_state {
public:
    explicit state(const parts& of) : parts_(of) {}

    std::optional<pinned_row> stored(table_id table, std::uint32_t id) const override {
        return parts_.stored(table, id, rocksdb::ReadOptions());
    }
    std::optional<std::uint32_t> owner(table_id table, std::uint32_t index,
                                       bytes_view key) const override {
        return parts_.owner(table, index, key, rocksdb::ReadOptions());
    }

private:
    const parts& parts_;
};

// --- scanning ------------------------------------------------------------------------------------

/// A RocksDB iterator that throws instead of ending early.
class rocksdb_store::entries {
public:
    entries(const parts& of, table_id table, family_handle family, const rocksdb::Slice& from)
        : parts_(of), table_(table) {
        rocksdb::ReadOptions how;
        how.fill_cache = false; // a scan would push out what lookups need
        at_.reset(of.database->NewIterator(how, family));
        at_->Seek(from);
        check();
    }
    [[nodiscard]] bool valid() const { return at_->Valid(); }
    [[nodiscard]] bytes_view key() const { return view(at_->key()); }
    [[nodiscard]] std::uint32_t id_in_key() const {
        return parts_.id_of(at_->key(), table_, "a row");
    }
    [[nodiscard]] std::uint32_t id_in_value() const {
        return parts_.id_of(at_->value(), table_, "a key entry");
    }
    [[nodiscard]] bytes_view record() const {
        return parts_.record_of(table_, id_in_key(), view(at_->value()));
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

    const parts& parts_;
    table_id table_;
    std::unique_ptr<rocksdb::Iterator> at_;
};

class rocksdb_store::row_entries final : public row_cursor_source {
public:
    explicit row_entries(entries all) : entries_(std::move(all)) {}
    bool valid() const override { return entries_.valid(); }
    std::uint32_t id() const override { return entries_.id_in_key(); }
    bytes_view record() const override { return entries_.record(); }
    void next() override { entries_.next(); }

private:
    entries entries_;
};

class rocksdb_store::key_entries final : public key_cursor_source {
public:
    explicit key_entries(entries all) : entries_(std::move(all)) {}
    bool valid() const override { return entries_.valid(); }
    bytes_view key() const override { return entries_.key(); }
    std::uint32_t id() const override { return entries_.id_in_value(); }
    void next() override { entries_.next(); }

private:
    entries entries_;
};

// --- the store -----------------------------------------------------------------------------------

rocksdb_store::rocksdb_store(const std::filesystem::path& folder, const store_options& options)
    : parts_(std::make_unique<parts>(folder, options)) {
    for (table_description& table : parts_->load_catalogue())
        if (parts_->add_existing(table)) add_existing_table(std::move(table));
}

rocksdb_store::~rocksdb_store() = default;

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
    rocksdb::WriteBatch changes;
    parts_->fill(changes, plan);
    if (changes.Count() != 0) parts_->write(changes, false);
    return {plan.put, plan.unchanged, plan.erased, plan.bytes};
}

std::optional<pinned_row> rocksdb_store::read(table_id table, std::uint32_t id) const {
    return parts_->row(table, id, rocksdb::ReadOptions());
}

std::optional<pinned_row> rocksdb_store::read(table_id table, std::uint32_t index,
                                              bytes_view key) const {
    return parts_->row(table, index, key, rocksdb::ReadOptions());
}

std::uint64_t rocksdb_store::row_count(table_id table) const {
    return parts_->count(table);
}

std::unique_ptr<row_cursor_source> rocksdb_store::scan(table_id table, std::uint32_t from) const {
    const family_handle rows = parts_->tables[table.value].rows;
    return std::make_unique<row_entries>(entries(*parts_, table, rows, id_bytes(from)));
}

std::unique_ptr<key_cursor_source> rocksdb_store::scan(table_id table, std::uint32_t index,
                                                       bytes_view from) const {
    const family_handle keys = parts_->tables[table.value].keys[index];
    return std::make_unique<key_entries>(entries(*parts_, table, keys, slice(from)));
}

void rocksdb_store::make_durable(bool empty_buffers) {
    parts_->require_writable();
    empty_buffers ? parts_->database.flush() : parts_->database.sync();
}

} // namespace chainbase::archive
