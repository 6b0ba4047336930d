#include <archive/open_archive.hpp>
#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <archive/rocksdb/store.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/database.hpp>
#include <chainbase/object/key_reader.hpp>
#include <chainbase/offline/backup.hpp>
#include <chainbase/offline/past_migration.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/offline/snapshot_file/unfinished_load.hpp>
#include <chainbase/state_root/recorded_root.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>

namespace chainbase::snapshot_file {

namespace fs = std::filesystem;
using archive::bytes_view;

namespace {

constexpr std::size_t rows_in_batch = 20'000; // sorted files of their own
constexpr std::size_t bytes_in_batch = std::size_t{16} << 20;

/// A type of the new state, and the one that it comes from.
struct type_to_load {
    const type_schema* schema;
    const type_entry* from; ///< null: it is new
    const migration_rules* rules;
};

const type_schema* schema_called(const std::vector<type_schema>& all, const std::string& name) {
    const auto found = std::ranges::find(all, name, &type_schema::name);
    return found == all.end() ? nullptr : &*found;
}

/// Which type of the snapshot becomes `name`.
const std::string& old_name(const loading_options& how, const std::string& name) {
    const auto renamed = how.renamed_types.find(name);
    return renamed == how.renamed_types.end() ? name : renamed->second;
}

void require_all_named(const folder_reader& from, const loading_options& how) {
    const auto require = [&](bool is_there, const std::string& name, const char* where) {
        if (!is_there)
            throw usage_error("there is no type " + name + " in the " + where +
                              "; look at the names in the rules of the migration");
    };
    const manifest& all = from.manifest();
    for (const std::string& name : how.dropped_types)
        require(all.find(name) != nullptr, name, "snapshot");
    for (const auto& [name, was] : how.renamed_types) {
        if (!how.types)
            throw usage_error("type " + was + " cannot be called " + name +
                              " when the new state has the types of the snapshot; give it others");
        require(all.find(was) != nullptr, was, "snapshot");
        require(schema_called(*how.types, name) != nullptr, name, "new state");
    }
    for (const auto& [name, rules] : how.rules)
        require(how.types ? schema_called(*how.types, name) != nullptr : all.find(name) != nullptr,
                name, "new state");
}

/// A root is of the records, which have the layouts of their types, and of the types' names.
bool changes_root(const std::vector<type_to_load>& types, const manifest& from) {
    std::size_t committed = 0;
    const auto is_kept = [&](const type_to_load& one) {
        if (!one.from || !one.from->is_committed) return true;
        ++committed;
        return one.schema->name == one.from->schema.name &&
               one.schema->fields == one.from->schema.fields;
    };
    const bool are_kept = std::ranges::all_of(types, is_kept);
    return !are_kept || committed != static_cast<std::size_t>(std::ranges::count_if(
                                         from.types, &type_entry::is_committed));
}

/// Throws usage_error for a type that would be lost.
std::vector<type_to_load> types_to_load(const folder_reader& from, const loading_options& how) {
    static const migration_rules none;
    require_all_named(from, how);
    std::vector<type_to_load> found;
    const auto add = [&](const type_schema& schema, const type_entry* of) {
        const auto rules = how.rules.find(schema.name);
        found.push_back({&schema, of, rules == how.rules.end() ? &none : &rules->second});
    };
    std::set<std::string> taken = how.dropped_types;
    if (how.types)
        for (const type_schema& schema : *how.types) {
            const std::string& name = old_name(how, schema.name);
            const bool is_dropped = how.dropped_types.contains(name);
            add(schema, is_dropped ? nullptr : from.manifest().find(name));
            taken.insert(name);
        }
    for (const type_entry& one : from.manifest().types)
        if (is_of_archive(one.schema.name))
            throw damaged_error(
                from.folder().string() + ": " + one.schema.name +
                " is of an archive, and no type of a snapshot; take it from elsewhere");
        else if (taken.contains(one.schema.name))
            continue;
        else if (how.types)
            throw usage_error("the new state has no type " + one.schema.name +
                              ", whose objects would be lost; name it as dropped, or as renamed");
        else
            add(one.schema, &one);
    return found;
}

/// Rows of the archive keep the bytes of their keys.
void require_possible_rows(const type_to_load& type) {
    const type_entry& from = *type.from;
    if ((from.archived == 0 && from.removed.empty()) || from.schema.fields == type.schema->fields)
        return;
    if (!from.archive_keys.empty())
        throw usage_error(type.schema->name +
                          ": has rows in the archive, whose keys are made of the former fields, so "
                          "its fields must stay as they are; only a replay makes them anew");
    if (from.row_layout != archive::described_record(from.schema).fingerprint())
        throw usage_error(type.schema->name +
                          ": the rows of its archive have fields (enums, char or integers of 128 "
                          "bits) whose layout only the program knows that wrote them, so its "
                          "fields must stay as they are");
}

/// Throws usage_error when the objects of a type cannot become those of the new one, or get a key.
void require_possible(const type_to_load& type) {
    static_cast<void>(rows::type_layout::of(*type.schema));
    if (!type.from) return;
    static_cast<void>(object_of_record(type.from->schema, *type.schema, *type.rules));
    require_possible_rows(type);
    if (type.from->objects == type.from->archived) return;
    for (const type_schema::key& key : type.schema->keys)
        if (bulk_load::is_computed(*type.schema, key))
            throw usage_error(type.schema->name + "." + key.name +
                              ": only the program that has the type can compute this key; copy "
                              "such a state by `chainbase-inspect backup`, or dump and load");
}

/// Bytes of objects and tables of ids, whatever keys and texts take, of types that are not `kept`.
std::uint64_t least_bytes(const std::vector<type_to_load>& types,
                          const std::set<std::string>& kept = {}) {
    std::uint64_t least = 0;
    for (const type_to_load& one : types)
        if (one.from && !kept.contains(one.schema->name))
            least += (one.from->objects - one.from->archived) * one.schema->node_bytes +
                     std::uint64_t{one.from->next_id} * id_table::geometry.slot_bytes;
    return least;
}

/// Throws out_of_space_error when not even the objects and ids fit. Where nobody said where the
/// segment is to be, it is in memory only if the doctor finds room for `expected_bytes` there. A
/// checkpoint has the `kept` types already.
void require_room(const std::vector<type_to_load>& types, const std::set<std::string>& kept,
                  const fs::path& folder, const bulk_load::new_state::limits& limits) {
    const std::uint64_t least = least_bytes(types);
    const std::uint64_t of_checkpoint = least_bytes(types, kept);
    const auto require = [&](const fs::path& place, std::uint64_t bytes, const char* what) {
        std::error_code unknown;
        const fs::space_info room = fs::space(place, unknown);
        if (unknown || room.available >= bytes) return;
        throw out_of_space_error(
            fmt::format("{}: {} alone take {} bytes, and {} are free in {}; free space, or choose "
                        "another place",
                        folder.string(), what, bytes, room.available, place.string()));
    };
    const bool has_checkpoint = limits.durability != durability::process;
    const fs::path parent = fs::absolute(folder).parent_path();
    const std::string& memory = limits.memory_folder;
    if (memory == "none" || (memory.empty() && !has_checkpoint))
        return require(parent, has_checkpoint ? least + of_checkpoint : least,
                       has_checkpoint ? "objects, ids and their checkpoint" : "objects and ids");
    if (!memory.empty()) require(memory, least, "objects and ids");
    if (has_checkpoint) require(parent, of_checkpoint, "the checkpoint of objects and ids");
}

/// Reads, verifies and hands out the chunks of a type, in order.
template <typename Take>
void each_chunk(const folder_reader& from, const type_entry& of,
                const std::vector<chunk_entry>& chunks, unsigned threads, Take&& take) {
    std::size_t number = 0;
    made_in_order(
        chunks.size(), threads, [&](std::size_t at) { return from.content(of, chunks[at]); },
        [&](archive::byte_buffer&& content) { take(chunks[number++], content); });
}

bool has_archive_rows(const type_to_load& type) {
    return type.from && (type.from->archived != 0 || !type.from->removed.empty());
}
std::uint64_t bytes_of(const std::vector<chunk_entry>& chunks) {
    return std::transform_reduce(chunks.begin(), chunks.end(), std::uint64_t{0}, std::plus(),
                                 [](const chunk_entry& one) { return one.bytes; });
}
std::uint64_t bytes_of_rows(const type_to_load& type) {
    return bytes_of(type.from->chunks) + bytes_of(type.from->removed);
}
/// Of the archive.
std::uint64_t rows_of(const type_to_load& type) {
    std::uint64_t all = type.from->archived;
    for (const chunk_entry& one : type.from->removed)
        all += one.objects;
    return all;
}
std::uint64_t objects_in_memory(const type_to_load& type) {
    return type.from ? type.from->objects - type.from->archived : 0;
}
/// Of contents. Those of a type that has rows in the archive are read for objects, then for rows.
std::uint64_t bytes_to_read(const std::vector<type_to_load>& types) {
    std::uint64_t all = 0;
    for (const type_to_load& one : types) {
        if (one.from) all += bytes_of(one.from->chunks);
        if (has_archive_rows(one)) all += bytes_of_rows(one);
    }
    return all;
}

/// How far the work is, by bytes of contents.
class told {
public:
    told(std::uint64_t all, const loading_options& how) : tell_(how.tell), all_(all) {}
    void advance(std::uint64_t bytes) {
        done_ += bytes;
        if (tell_) tell_(done_, all_);
    }

private:
    const std::function<void(std::uint64_t, std::uint64_t)>& tell_;
    std::uint64_t all_;
    std::uint64_t done_ = 0;
};

/// The object of a row, which must have the row's id.
const std::byte* object_in(const chunk_row& row, object_of_record& objects) {
    const std::byte* const object = objects.read(row.record).data();
    const auto id = rows::copy_at<std::uint32_t>(object);
    if (id != row.id)
        throw damaged_error("the row of id " + std::to_string(row.id) + " has object " +
                            std::to_string(id) + "; take the snapshot from elsewhere");
    return object;
}

/// Rows of the archive on their way to a store. Records of another layout become what the catalogue
/// says of the new one.
class archived_rows {
public:
    archived_rows(archive::store& to, const type_to_load& type)
        : to_(to), table_(to.open_table(type.schema->name, type.from->archive_keys)),
          layout_(type.from->row_layout), objects_(type.from->schema, *type.schema, *type.rules),
          records_(*type.schema), is_same_(type.from->schema.fields == type.schema->fields),
          has_own_keys_(to.count(table_) == 0) {
        if (!is_same_) layout_ = records_.fingerprint();
    }
    ~archived_rows() = default;
    archived_rows(const archived_rows&) = delete;
    archived_rows& operator=(const archived_rows&) = delete;

    void add(const chunk_row& row) {
        record_.clear();
        const std::byte* const object = object_in(row, objects_);
        if (is_same_)
            archive::append(record_, row.record);
        else
            records_.append(object, objects_, record_);
        archive::detail::store_little(record_.data(), layout_);
        whole_ = record_;
        archive::append(whole_, row.keys);
        const auto keys = archive::detail::keys_of(whole_);
        const auto record = archive::detail::record_of(whole_);
        if (!keys || !record || record->size() != record_.size())
            throw damaged_error("object " + std::to_string(row.id) +
                                " of the archive has keys that are none");
        if (has_own_keys_)
            batch_.add(table_, row.id, record_, *keys);
        else
            batch_.put(table_, row.id, record_, *keys);
        ++rows_;
        if (batch_.size() >= rows_in_batch || batch_.bytes() >= bytes_in_batch) write();
    }
    void write() {
        if (!batch_.empty()) to_.write(batch_);
        batch_.clear();
    }
    /// What follows may have keys of rows that are there, as those of removed objects do.
    void share_keys() {
        write();
        has_own_keys_ = false;
    }
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
    /// Whether the store has exactly the rows that were written.
    [[nodiscard]] bool are_all_there() const { return to_.count(table_) == rows_; }

private:
    archive::store& to_;
    archive::table_id table_;
    std::uint32_t layout_;
    object_of_record objects_;
    archive::described_record records_;
    bool is_same_;
    /// Neither the rows nor their keys are there; else they may be, also of a call that was killed.
    bool has_own_keys_;
    archive::byte_buffer record_;
    archive::byte_buffer whole_;
    archive::write_batch batch_;
    std::uint64_t rows_ = 0;
};

std::string archive_kind(const folder_reader& from, const loading_options& how) {
    const std::string& kind = how.archive.empty() ? from.manifest().archive : how.archive;
    const bool has_rows = std::ranges::any_of(from.manifest().types, [](const type_entry& one) {
        return one.archived != 0 || !one.removed.empty();
    });
    if (!kind.empty()) static_cast<void>(archive::store_kind_of(kind));
    if (has_rows && (kind.empty() || kind == "none"))
        throw usage_error("the snapshot has rows of an archive, which need one of the kind rocksdb "
                          "or memory, not none: they do not become objects in memory again");
    return kind;
}

/// A state being made of a snapshot.
class loader {
public:
    /// `unfinished`: what is at `folder`; null if it cannot be gone on with.
    loader(const folder_reader& from, const fs::path& folder, const loading_options& how,
           unfinished_load* unfinished = nullptr)
        : from_(from), folder_(folder), how_(how), unfinished_(unfinished),
          types_(types_to_load(from, how)), kind_(archive_kind(from, how)),
          told_(bytes_to_read(types_), how) {
        std::ranges::for_each(types_, require_possible);
        require_room(types_, unfinished ? unfinished->kept_types() : std::set<std::string>(),
                     folder, how.limits);
        if (!changes_root(types_, from.manifest())) return;
        for (type_to_load& one : types_) // it is made anew by the program that keeps it
            if (state_root::is_of_root(one.schema->name)) one.from = nullptr;
    }

    loading_result run() {
        load_objects();
        if (!kind_.empty()) load_archive();
        tell_migrations();
        return done_;
    }

private:
    using clock = std::chrono::steady_clock;

    void load_objects() {
        const std::unique_ptr<bulk_load::new_state> state = begun();
        for (const type_to_load& one : types_) {
            if (state->memory().types().find(one.schema->name)) {
                if (one.from) told_.advance(bytes_of(one.from->chunks));
                done_.objects += objects_in_memory(one);
                continue;
            }
            load_type(one, *state);
            if (&one != &types_.back()) keep_if_due(*state);
        }
        done_.revision = from_.manifest().revision;
        state->close(done_.revision);
        say_kept();
    }

    /// An empty one, or with the types that an earlier call loaded.
    std::unique_ptr<bulk_load::new_state> begun() {
        using bulk_load::new_state;
        if (unfinished_ && unfinished_->is_continued()) try {
                auto state = std::make_unique<new_state>(folder_, how_.limits,
                                                         new_state::content::checkpoint);
                for (const type_to_load& one : types_)
                    require_as_listed(one, state->memory());
                say_kept();
                return state;
            } catch (const io_error&) {
                throw;
            } catch (const out_of_space_error&) {
                throw;
            } catch (const error& problem) {
                unfinished_->begin_anew(problem.what());
            }
        return std::make_unique<new_state>(folder_, how_.limits);
    }

    /// Of a type that the state has, if it does.
    void require_as_listed(const type_to_load& type, const segment& state) const {
        const auto& all = state.types().entries();
        const catalogue::entry* const known = state.types().find(type.schema->name);
        if (!known) return;
        const window& file =
            *state.windows()[static_cast<std::size_t>(known - all.data())]->objects;
        const auto root = rows::copy_at<chainbase::detail::root_prefix>(file.root());
        if (known->schema == *type.schema && root.pool.live - 1 == objects_in_memory(type) &&
            root.next_id >= (type.from ? type.from->next_id : 0))
            return;
        throw damaged_error(folder_.string() + ": its type " + type.schema->name +
                            " is not as the snapshot has it");
    }

    /// So often that it takes a twentieth of the time.
    void keep_if_due(bulk_load::new_state& state) {
        constexpr int share = 20;
        const clock::time_point begin = clock::now();
        const clock::duration pause = how_.keep_interval;
        if (!unfinished_ || begin - kept_at_ < std::max(pause, share * kept_in_)) return;
        state.keep();
        say_kept();
        kept_at_ = clock::now();
        kept_in_ = kept_at_ - begin;
    }
    void say_kept() const {
        if (!unfinished_) return;
        unfinished_->keep();
        if (unfinished_->is_kept() && how_.on_kept) how_.on_kept();
    }

    void load_type(const type_to_load& type, bulk_load::new_state& state) {
        bulk_load::object_loader to = state.add_type(*type.schema);
        if (type.from) {
            object_of_record objects(type.from->schema, *type.schema, *type.rules);
            each_chunk(from_, *type.from, type.from->chunks, how_.threads,
                       [&](const chunk_entry& one, const archive::byte_buffer& content) {
                           add(one, content, type, objects, to);
                       });
        }
        to.finish(type.from ? type.from->next_id : 0, {}, [this] { told_.advance(0); });
        const std::uint64_t expected = objects_in_memory(type);
        if (to.objects() != expected)
            throw damaged_error(from_.folder().string() + ": " + type.from->schema.name + " has " +
                                std::to_string(to.objects()) + " objects in memory, not " +
                                std::to_string(expected));
        done_.objects += to.objects();
    }

    void add(const chunk_entry& one, const archive::byte_buffer& content, const type_to_load& type,
             object_of_record& objects, bulk_load::object_loader& to) {
        each_row(content, name_of(*type.from, one), [&](const chunk_row& row) {
            if (!row.is_archived) to.add(object_in(row, objects), objects);
        });
        told_.advance(content.size());
    }

    /// Of an archive in files of its own before the state can be opened with it.
    void load_archive() {
        const fs::path folder = folder_ / "archive";
        if (archive::store_kind_of(kind_) == archive::store_kind::rocksdb) {
            archive::rocksdb_store to(folder, {});
            sync_folder(folder_); // before the notes say that there are rows
            load_rows(to);
            to.flush();
        } else
            load_archive_of_state(folder);
        sync_folder(folder_);
    }

    /// The rows are in the checkpoint that is made when it is closed, or none is: a kill in between
    /// leaves the objects.
    void load_archive_of_state(const fs::path& folder) {
        open_options options;
        options.window_bytes = how_.limits.window_bytes;
        options.durability = how_.limits.durability;
        options.checkpoints.interval = std::chrono::milliseconds(0);
        options.memory_folder = how_.limits.memory_folder;
        options.readers_group = how_.limits.readers_group;
        database state(folder_, options);
        const auto to = archive::open_archive(state, folder, archive::store_kind_of(kind_));
        state.with_write_lock([&] { load_rows(*to); });
        state.close();
    }

    void load_rows(archive::store& to) {
        for (const type_to_load& one : types_) {
            if (!has_archive_rows(one)) continue;
            if (are_rows_kept(one, to))
                told_.advance(bytes_of_rows(one));
            else
                load_rows(one, to);
            done_.archived += rows_of(one);
        }
    }
    [[nodiscard]] bool are_rows_kept(const type_to_load& type, archive::store& to) const {
        if (!unfinished_ || !(to.is_of_the_state() || unfinished_->has_rows(type.schema->name)))
            return false;
        return to.count(to.open_table(type.schema->name, type.from->archive_keys)) == rows_of(type);
    }
    void load_rows(const type_to_load& type, archive::store& to) {
        archived_rows rows(to, type);
        const auto add_all = [&](const std::vector<chunk_entry>& chunks) {
            each_chunk(from_, *type.from, chunks, how_.threads,
                       [&](const chunk_entry& one, const archive::byte_buffer& content) {
                           each_row(content, name_of(*type.from, one), [&](const chunk_row& row) {
                               if (row.is_archived) rows.add(row);
                           });
                           told_.advance(content.size());
                       });
        };
        add_all(type.from->chunks);
        const std::uint64_t of_objects = rows.rows();
        rows.share_keys();
        add_all(type.from->removed);
        rows.write();
        if (of_objects != type.from->archived)
            throw damaged_error(from_.folder().string() + ": " + type.from->schema.name + " has " +
                                std::to_string(of_objects) + " rows of the archive, not " +
                                std::to_string(type.from->archived));
        keep_rows(type, rows, to);
    }
    void keep_rows(const type_to_load& type, const archived_rows& rows, archive::store& to) {
        if (!unfinished_ || to.is_of_the_state()) return;
        if (!rows.are_all_there()) { // a loss of power within a type left other ones
            unfinished_->give_up();
            throw damaged_error(to.name() + ": has other rows of " + type.schema->name +
                                " than the snapshot, so it was removed; load again");
        }
        to.flush();
        unfinished_->add_rows(type.schema->name);
    }

    void tell_migrations() const {
        std::vector<past_migration> all;
        for (const type_to_load& one : types_)
            if (one.from && !(one.from->schema == *one.schema))
                all.push_back(past_migration::of(one.from->schema, *one.schema, *one.rules));
        if (!all.empty()) add_past_migrations(folder_, {}, std::move(all));
    }

    const folder_reader& from_;
    const fs::path& folder_;
    const loading_options& how_;
    unfinished_load* unfinished_;
    std::vector<type_to_load> types_;
    std::string kind_;
    told told_;
    clock::time_point kept_at_ = clock::now();
    clock::duration kept_in_{}; ///< how long keeping took the last time
    loading_result done_;
};

/// Names in `a` that are not in `b`.
std::vector<std::string> missing_keys(const type_schema& a, const type_schema* b) {
    std::vector<std::string> found;
    for (const type_schema::key& key : a.keys)
        if (!b || std::ranges::find(b->keys, key) == b->keys.end()) found.push_back(key.name);
    return found;
}

/// Finds objects that have the same unique key, without a copy of the keys: two that have the same
/// hash of 96 bits are taken for the same.
class unique_key {
public:
    unique_key(const type_schema& schema, const type_schema::key& key, const object_of_record& from)
        : name_(schema.name + "." + key.name), key_(schema, key, from) {}

    void add(const std::byte* object) {
        entry one{{}, rows::copy_at<std::uint32_t>(object)};
        for (std::uint64_t i = 0; i < one.hash.size(); ++i) {
            const auto hash = key_.hash(object, {{i, ~i}});
            if (!hash) return; // only loading knows whether they are the same
            one.hash[i] = *hash;
        }
        all_.push_back(one);
    }
    void count_into(type_change& to) {
        std::ranges::sort(all_);
        for (std::size_t i = 1; i < all_.size(); ++i) {
            if (all_[i].hash != all_[i - 1].hash) continue;
            if (to.failing++ == 0)
                to.first_failure = fmt::format("{}: objects {} and {} have the same key", name_,
                                               all_[i - 1].id, all_[i].id);
        }
    }

private:
    struct entry {
        std::array<std::uint32_t, 3> hash;
        std::uint32_t id;
        auto operator<=>(const entry&) const = default;
    };
    std::string name_;
    rows::key_reader key_;
    std::vector<entry> all_;
};

std::deque<unique_key> unique_keys(const type_schema& schema, const object_of_record& from) {
    std::deque<unique_key> keys;
    for (const type_schema::key& key : schema.keys)
        if (key.kind.ends_with("_unique") && !key.kind.ends_with("_non_unique"))
            keys.emplace_back(schema, key, from);
    return keys;
}

void count_failures(const folder_reader& from, const type_to_load& type, const loading_options& how,
                    told& done, type_change& to) {
    try {
        require_possible(type);
    } catch (const usage_error& problem) {
        to.failing = type.from->objects;
        to.first_failure = problem.what();
        return;
    }
    object_of_record objects(type.from->schema, *type.schema, *type.rules);
    std::deque<unique_key> keys = unique_keys(*type.schema, objects);
    each_chunk(from, *type.from, type.from->chunks, how.threads,
               [&](const chunk_entry& one, const archive::byte_buffer& content) {
                   each_row(content, name_of(*type.from, one), [&](const chunk_row& row) {
                       try {
                           const std::byte* const object = objects.read(row.record).data();
                           if (!row.is_archived)
                               for (unique_key& key : keys)
                                   key.add(object);
                       } catch (const limit_error& problem) {
                           if (to.failing++ == 0) to.first_failure = problem.what();
                       }
                   });
                   done.advance(content.size());
               });
    for (unique_key& key : keys)
        key.count_into(to);
}

} // namespace

loading_result load(const folder_reader& from, const fs::path& folder, const loading_options& how) {
    return loader(from, folder, how).run();
}

loading_result load_as(const folder_reader& from, const fs::path& state, loading_options how) {
    archive::require_outside(state, from.folder(), "snapshot");
    how.limits.expected_bytes =
        std::max(2 * from.manifest().bytes(), least_bytes(types_to_load(from, how)));
    how.limits.durability = durability::checkpoint;
    unfinished_load made(state, from.manifest(), how);
    const fs::path folder = made.path();
    try {
        const loading_result done = loader(from, folder, how, &made).run();
        made.finish();
        return done;
    } catch (...) {
        if (made.is_kept())
            spdlog::info("{}: keeps the types that were loaded whole; the same call goes on with "
                         "them, and removing it begins anew",
                         folder.parent_path().string());
        throw;
    }
}

std::vector<type_change> dry_run(const folder_reader& from, const loading_options& how) {
    const std::vector<type_to_load> types = types_to_load(from, how);
    std::uint64_t bytes = 0;
    for (const type_to_load& type : types)
        if (type.from) bytes += bytes_of(type.from->chunks);
    told done(bytes, how);
    std::vector<type_change> found;
    for (const type_to_load& type : types) {
        const type_schema* const was = type.from ? &type.from->schema : nullptr;
        type_change one{type.schema->name,
                        was ? was->name : "",
                        false,
                        {},
                        missing_keys(*type.schema, was),
                        was ? missing_keys(*was, type.schema) : std::vector<std::string>()};
        if (was) {
            one.fields = object_of_record::changes(*was, *type.schema, *type.rules);
            count_failures(from, type, how, done, one);
        }
        found.push_back(std::move(one));
    }
    for (const std::string& name : how.dropped_types)
        found.push_back({.type = name,
                         .was = name,
                         .is_dropped = true,
                         .fields = {},
                         .keys_added = {},
                         .keys_dropped = {}});
    return found;
}

} // namespace chainbase::snapshot_file
