#include <archive/fault_steps.hpp>
#include <archive/memory_store.hpp>
#include <archive/open_archive.hpp>
#include <archive/rocksdb/store.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/database.hpp>
#include <chainbase/offline/conversion.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace chainbase::archive {

namespace {

namespace fs = std::filesystem;
using detail::kept_key;
using detail::kept_row;
using detail::kept_table;
using fault::conversion_step;

constexpr std::size_t rows_in_memory_batch = 2'000;
constexpr std::size_t rows_in_file_batch = 20'000; // sorted files of their own
constexpr std::size_t most_batch_bytes = std::size_t{16} << 20;

using stored_visitor = std::function<void(std::uint32_t id, bytes_view stored)>;

/// One conversion between kinds that keep rows, or from none.
class converter {
public:
    converter(database& state, fs::path folder, const conversion_options& options)
        : state_(state), folder_(std::move(folder)), options_(options) {}

    /// The rows in memory; their types are registered in the state when needed.
    memory_store& kept() {
        if (!kept_)
            kept_ = state_.with_write_lock([&] { return std::make_unique<memory_store>(state_); });
        return *kept_;
    }

    // --- rows ---

    void each_stored(const store& of, table_id table, const stored_visitor& visit) const {
        if (of.kind() == store_kind::rocksdb)
            return static_cast<const rocksdb_store&>(of).each_stored(table, visit);
        const auto all = state_.view<kept_row, detail::by_number>();
        for (auto at = all.lower_bound(table.value, std::uint32_t{0});
             at != all.end() && at->table == table.value; ++at)
            visit(at->number, {at->content.data(), at->content.size()});
    }

    void write(store& to, write_batch& batch) {
        if (batch.empty()) return;
        const std::size_t rows = batch.size();
        if (to.is_of_the_state())
            state_.with_write_lock([&] { to.write(batch); });
        else
            to.write(batch);
        batch.clear();
        fault::reach(conversion_step::batch_copied);
        advance(rows);
    }

    /// The store skips rows that it already has with the same content.
    void copy_table(const store& from, table_id source, store& to, table_id target) {
        write_batch batch;
        const std::size_t most =
            options_.rows_at_once != 0
                ? options_.rows_at_once
                : (to.is_of_the_state() ? rows_in_memory_batch : rows_in_file_batch);
        each_stored(from, source, [&](std::uint32_t id, bytes_view stored) {
            const auto record = detail::record_of(stored);
            const auto keys = detail::keys_of(stored);
            if (!record || !keys)
                throw damaged_error(
                    from.name() + ": table \"" + from.tables()[source.value].name + "\", id " +
                    std::to_string(id) +
                    ": the row is malformed; restore a backup, or replay into a new "
                    "folder");
            batch.put(target, id, *record, *keys);
            if (batch.size() >= most || batch.bytes() >= most_batch_bytes) write(to, batch);
        });
        write(to, batch);
    }

    [[nodiscard]] std::uint64_t sum_of(const store& of, table_id table) {
        std::uint64_t sum = 0;
        std::uint64_t rows = 0;
        each_stored(of, table, [&](std::uint32_t id, bytes_view stored) {
            sum = hash_of(stored, sum ^ (std::uint64_t{id} << 1));
            if (++rows % rows_in_memory_batch == 0) advance(rows_in_memory_batch);
        });
        advance(rows % rows_in_memory_batch);
        return sum;
    }

    void clear(store& of, table_id table) {
        std::vector<std::uint32_t> ids;
        each_stored(of, table, [&](std::uint32_t id, bytes_view) { ids.push_back(id); });
        write_batch batch;
        for (const std::uint32_t id : ids) {
            batch.erase(table, id);
            if (batch.size() >= rows_in_memory_batch) write(of, batch);
        }
        write(of, batch);
    }

    void verify(const store& from, table_id source, const store& to, table_id target) {
        const std::uint64_t rows = from.count(source);
        if (to.count(target) == rows && sum_of(from, source) == sum_of(to, target)) return;
        throw damaged_error(to.name() + ": table \"" + to.tables()[target.value].name +
                            "\" differs from the rows copied from " + from.name() +
                            "; the archive keeps its kind. Check memory and disk, then begin "
                            "again");
    }

    void copy_all(const store& from, store& to) {
        std::uint64_t all = 0;
        for (std::uint32_t i = 0; i < from.tables().size(); ++i)
            all += from.count({i});
        begin(all);
        std::vector<std::pair<table_id, table_id>> tables;
        for (std::uint32_t i = 0; i < from.tables().size(); ++i) {
            const table_description table = from.tables()[i];
            const auto open = [&] { return to.open_table(table.name, table.key_names); };
            const table_id target = to.is_of_the_state() ? state_.with_write_lock(open) : open();
            copy_table(from, {i}, to, target);
            if (to.count(target) !=
                from.count({i})) { // an earlier call copied rows that are gone by now
                clear(to, target);
                copy_table(from, {i}, to, target);
            }
            tables.emplace_back(i, target);
            rows_[table.name] = from.count({i});
        }
        fault::reach(conversion_step::all_copied);
        begin(2 * all);
        for (const auto& [source, target] : tables)
            verify(from, source, to, target);
        fault::reach(conversion_step::verified);
    }

    /// Both checkpoints get the rows: should the newer one be damaged one day, the older one is
    /// restored, and belongs to the new kind as well.
    void to_memory() {
        std::unique_ptr<store> from = open_archive(state_, folder_, {}, options_.store);
        copy_all(*from, kept());
        state_.make_checkpoint();
        state_.make_checkpoint();
        from.reset();
        fault::reach(conversion_step::durable);
        replace_file(folder_ / "format", format_of(store_kind::memory));
        fault::reach(conversion_step::flipped);
        remove_files();
    }

    void move_here(const char* name) const {
        const fs::path from = folder_ / "converting" / name;
        if (::rename(from.c_str(), (folder_ / name).c_str()) != 0) throw_file_error(from, "rename");
    }

    /// The store is made in a folder of its own, of which its parts then take their places: as long
    /// as `format` does not say so they are none of the archive.
    void to_rocksdb(store_kind from) {
        for (const char* stale : {"rocksdb", "synced", "ingest"})
            remove_part(stale);
        {
            const none_store nothing;
            const store& source =
                from == store_kind::memory ? static_cast<const store&>(kept()) : nothing;
            rocksdb_store to(folder_ / "converting", options_.store);
            copy_all(source, to);
            to.flush();
        }
        sync_folder(folder_ / "converting");
        fault::reach(conversion_step::durable);
        const std::string format = read_file(folder_ / "converting" / "format");
        move_here("rocksdb");
        move_here("synced");
        sync_folder(folder_);
        fault::reach(conversion_step::moved);
        replace_file(folder_ / "format", format);
        fault::reach(conversion_step::flipped);
        remove_part("converting");
        remove_rows();
    }

    void remove_part(const char* name) const {
        std::error_code failed;
        const auto removed = fs::remove_all(folder_ / name, failed);
        if (failed) {
            errno = failed.value();
            throw_file_error(folder_ / name, "remove");
        }
        if (removed != 0) sync_folder(folder_);
        if (removed != 0) fault::reach(conversion_step::part_removed);
    }

    void remove_files() const {
        for (const char* stale : {"ingest", "synced", "rocksdb", "converting"})
            remove_part(stale);
        fault::reach(conversion_step::finished);
    }

    template <typename T, typename Tag>
    void remove_objects() {
        const auto all = state_.view<T, Tag>();
        const std::size_t most =
            options_.rows_at_once != 0 ? options_.rows_at_once : rows_in_memory_batch;
        while (all.begin() != all.end()) {
            state_.with_write_lock([&] {
                session some = state_.start_session();
                for (std::size_t n = 0; n < most && all.begin() != all.end(); ++n)
                    state_.remove(*all.begin());
                some.squash();
            });
            fault::reach(conversion_step::part_removed);
        }
    }

    /// The tables stay: their ids are places in a list.
    void remove_rows() {
        if (!state_.has_type("archive.row")) return;
        (void)kept();
        remove_objects<kept_key, detail::by_bytes>();
        remove_objects<kept_row, detail::by_number>();
        state_.with_write_lock([&] {
            session all = state_.start_session();
            for (const kept_table& table : state_.objects<kept_table>())
                state_.modify(table, [](kept_table& one) { one.rows = 0; });
            all.squash();
        });
        state_.compact();
        fault::reach(conversion_step::finished);
    }

    /// Removes what an earlier call left or had copied when it was cancelled. Closing the state
    /// makes a checkpoint, which relies on rows that may not be synced.
    void remove_other_kinds(store_kind but) {
        if (but == store_kind::rocksdb) open_archive(state_, folder_, but, options_.store)->sync();
        if (but == store_kind::rocksdb)
            remove_part("converting");
        else
            remove_files();
        if (but != store_kind::memory) remove_rows();
    }

    [[nodiscard]] std::map<std::string, std::uint64_t> rows() const { return rows_; }

private:
    void begin(std::uint64_t all) {
        all_ = all;
        done_ = 0;
    }
    void advance(std::uint64_t rows) {
        done_ += rows;
        if (options_.tell) options_.tell(done_, all_);
    }

    database& state_;
    fs::path folder_;
    const conversion_options& options_;
    std::unique_ptr<memory_store> kept_;
    std::map<std::string, std::uint64_t> rows_;
    std::uint64_t all_ = 0;
    std::uint64_t done_ = 0;
};

// --- kinds ---------------------------------------------------------------------------------------

void require_nothing_undoable(const database& state) {
    const revision_number undoable = state.revision() - state.committed_revision();
    if (undoable == 0) return;
    throw usage_error("the archive of " + state.state() + ": " + std::to_string(undoable) +
                      " revision(s) of the state can still be undone, and rows in memory would "
                      "be undone with them; pop them or make them irreversible first");
}

} // namespace

conversion convert_archive(database& state, const fs::path& folder, store_kind to,
                           const conversion_options& options) {
    const auto kind = kind_of(folder);
    if (!kind) throw format_error(folder.string() + ": there is no archive; check the path");
    conversion done{*kind, to, {}};
    if (to == store_kind::none && *kind != store_kind::none)
        throw usage_error(folder.string() + ": objects that left memory for `" +
                          std::string(to_string(*kind)) +
                          "` cannot be put back, so the archive cannot become `none`; replay "
                          "into a new folder with --archive none");
    require_nothing_undoable(state);
    converter work(state, folder, options);
    if (*kind == to)
        work.remove_other_kinds(to);
    else if (to == store_kind::memory)
        work.to_memory();
    else
        work.to_rocksdb(*kind);
    done.rows = work.rows();
    return done;
}

} // namespace chainbase::archive
