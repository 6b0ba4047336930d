#include <archive/fault_steps.hpp>
#include <archive/record/integers.hpp>
#include <archive/rocksdb/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <span>
#include <system_error>

namespace chainbase::archive::detail {

void throw_status(const rocksdb::Status& status, const std::string& where) {
    const std::string message = where + ": " + status.ToString();
    if (status.IsNoSpace())
        throw out_of_space_error(message + "; make room on the disk and open the store again");
    if (status.IsCorruption())
        throw damaged_error(message +
                            "; restore the archive from a backup or rebuild it by a replay");
    throw io_error(message + "; check the disk, the permissions and the kernel's log, then open "
                             "the store again");
}

namespace {

constexpr const char* way_out = "; restore the archive from a backup or rebuild it by a replay";

// A file that the manifest names and the folder lacks is damage, not a disk that fails.
[[noreturn]] void throw_open_status(const rocksdb::Status& status, const std::string& name) {
    if (status.IsPathNotFound() || status.IsInvalidArgument() || status.IsNotFound())
        throw damaged_error(name + ": files are missing: " + status.ToString() + way_out);
    throw_status(status, name + ": open");
}

/// The names of RocksDB's data files: tables, logs and manifests.
std::set<std::string> data_files_in(const std::filesystem::path& folder) {
    std::set<std::string> files;
    std::error_code gone; // no folder is found out by RocksDB, with a better message
    for (const auto& entry : std::filesystem::directory_iterator(folder, gone)) {
        const std::string name = entry.path().filename();
        if (name.ends_with(".log") || name.ends_with(".sst") || name.starts_with("MANIFEST"))
            files.insert(name);
    }
    return files;
}

std::set<std::string> ending(std::set<std::string> files, const char* with) {
    std::erase_if(files, [&](const std::string& name) { return !name.ends_with(with); });
    return files;
}

/// Whether no log came or went, and no table came.
bool same_content(const std::set<std::string>& before, const std::set<std::string>& after) {
    return ending(before, ".log") == ending(after, ".log") &&
           std::ranges::includes(before, ending(after, ".sst"));
}

rocksdb::IngestExternalFileOptions how_to_ingest() {
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;          // by a second name: nothing is copied
    how.write_global_seqno = false; // kept in the manifest; the file need not change
    return how;
}

} // namespace

// Recovery ends at a torn record by itself, but steps over a log that ends between two records too
// early, is empty or missing, and goes on with the next one: later writes without earlier ones.
rocksdb::WalFilter::WalProcessingOption
gapless_log::LogRecordFound(unsigned long long, const std::string& log,
                            const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*, bool*) {
    // Recovery itself may write one, whose number a file that is taken in gets, too.
    if (batch.Count() == 0) return WalProcessingOption::kContinueProcessing;
    const auto number = load_little<std::uint64_t>( // a batch begins with its first write's
        std::as_bytes(std::span(batch.Data())).data());
    if (next_ != 0 && number > next_) {
        spdlog::warn(
            "{}: its log ends before write {}, as a power cut leaves it; \"{}\", which goes on "
            "with write {}, is left out",
            store_, next_, log, number);
        return WalProcessingOption::kStopReplay;
    }
    next_ = number + batch.Count();
    return WalProcessingOption::kContinueProcessing;
}

rocksdb_database::rocksdb_database(const std::filesystem::path& folder,
                                   const store_options& options)
    : read_only_(options.read_only), folder_(read_only_ ? store_folder::open_for_reading(folder)
                                                        : store_folder::open_for_writing(folder)),
      options_(options, folder) {
    try {
        read_only_ ? open_reader() : open_writer();
    } catch (...) {
        if (database_) close_handles(); // RocksDB ends the process over handles that are left
        throw;
    }
}

rocksdb_database::~rocksdb_database() {
    if (!database_) return;
    if (!is_here()) {
        leak(std::move(database_));
        return;
    }
    try {
        if (!read_only_) {
            flush_families();
            mark_synced(database_->GetLatestSequenceNumber(), true);
        }
    } catch (const error&) {
        // The mark still says "open", so the next open reads the log, which has everything.
    }
    close_handles();
    folder_.unlock();
}

void rocksdb_database::close_handles() noexcept {
    for (const family_handle handle : handles_)
        database_->DestroyColumnFamilyHandle(handle);
    handles_.clear();
    families_.clear();
    database_->Close().PermitUncheckedError();
    database_.reset();
}

std::string rocksdb_database::name() const {
    return "archive store rocksdb \"" + folder_.path().string() + "\"";
}

void rocksdb_database::open_writer() {
    const auto mark = folder_.mark();
    if (mark && !mark->closed) check_before_writing(*mark);
    const rocksdb::Status status = open_or_create(!mark);
    if (!status.ok()) throw_open_status(status, name());
    drop_unfinished_ingest();
    if (!mark || mark->closed) mark_synced(mark ? mark->sequence : 0, false);
}

// A torn end of the log is what a crash leaves, and reading stops there. Whether the tear took rows
// that had been synced is told by the mark; asked before the store is opened for writing, since
// that would throw away what stands behind the tear.
void rocksdb_database::check_before_writing(const synced_mark& mark) {
    const rocksdb::Status status = open_for_reading();
    if (!status.ok()) throw_open_status(status, name());
    require_synced(mark);
    close_handles();
}

void rocksdb_database::require_synced(const synced_mark& mark) {
    const std::uint64_t sequence = database_->GetLatestSequenceNumber();
    if (sequence >= mark.sequence) return;
    throw damaged_error(name() + ": its log ends at write " + std::to_string(sequence) +
                        " while write " + std::to_string(mark.sequence) +
                        " had been synced: rows are lost" + way_out);
}

rocksdb::Status rocksdb_database::open_or_create(bool create) {
    options_.database.create_if_missing = create;
    if (create && !std::filesystem::exists(folder_.rocksdb() / "CURRENT"))
        found_ = {{rocksdb::kDefaultColumnFamilyName, options_.table}};
    else if (const rocksdb::Status status = list_families(); !status.ok())
        return status;
    rocksdb::DBOptions options = options_.database;
    options.wal_filter = &(log_filter_ = gapless_log(name()));
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(options, folder_.rocksdb().string(), found_, &handles_, &raw);
    if (status.ok()) adopt(raw);
    return status;
}

rocksdb::Status rocksdb_database::list_families() {
    std::vector<std::string> names;
    const rocksdb::Status status =
        rocksdb::DB::ListColumnFamilies(options_.database, folder_.rocksdb().string(), &names);
    found_.clear();
    for (const std::string& name : names)
        found_.emplace_back(name, options_.table);
    return status;
}

// Beside a writer: all files are opened at once and stay readable when the writer deletes them. One
// thing could go unseen: RocksDB reads first what table files there are, then the logs, and rows
// that moved from a log to a table file in between would be in neither. They can only move once the
// writer has begun a new log, so an opening counts only if no log came or went. Nor did a table
// come: it may have been ingested, and later rows then be in the log. An opening that fails while
// files come and go is tried again too. RocksDB's secondary instance would not do: when a
// file is missing it shows an older state, and rows would be "not found".
void rocksdb_database::open_reader() {
    const auto mark = folder_.mark();
    if (!mark) throw format_error(name() + " was never completely made; open it for writing once");
    constexpr int attempts = 100;
    for (int attempt = 1;; ++attempt) {
        const auto before = data_files_in(folder_.rocksdb());
        const rocksdb::Status status = open_for_reading();
        const auto after = data_files_in(folder_.rocksdb());
        if (status.ok() && same_content(before, after)) return require_synced(*mark);
        if (status.ok()) close_handles();
        if (!status.ok() && before == after) throw_open_status(status, name());
        if (attempt == attempts)
            throw io_error(name() + ": its writer replaced files during each of " +
                           std::to_string(attempts) + " attempts to open it; try again");
    }
}

rocksdb::Status rocksdb_database::open_for_reading() {
    rocksdb::DBOptions options = options_.database;
    options.max_open_files = -1;
    options.wal_filter = &(log_filter_ = gapless_log(name()));
    const rocksdb::Status listed = list_families();
    if (!listed.ok()) return listed;
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::OpenForReadOnly(options, folder_.rocksdb().string(), found_, &handles_, &raw);
    if (status.ok()) adopt(raw);
    return status;
}

void rocksdb_database::adopt(rocksdb::DB* database) {
    database_.reset(database);
    for (const family_handle handle : handles_)
        families_[handle->GetName()] = handle;
}

rocksdb_database::family_handle rocksdb_database::family(const std::string& name) const {
    const auto found = families_.find(name);
    return found == families_.end() ? nullptr : found->second;
}

rocksdb_database::family_handle rocksdb_database::make_family(const std::string& name) {
    if (const family_handle found = family(name)) return found;
    family_handle handle = nullptr;
    check_status(database_->CreateColumnFamily(options_.table, name, &handle),
                 [&] { return this->name() + ": make column family \"" + name + "\""; });
    handles_.push_back(handle);
    return families_[name] = handle;
}

// Nor is a log that could not be written to synced: RocksDB 7.8 ends the process at the next call
// that needs it, also after DB::Resume() when nothing is buffered.
rocksdb::Status rocksdb_database::write(rocksdb::WriteBatch& batch, bool sync) {
    rocksdb::WriteOptions how;
    how.sync = sync;
    const std::lock_guard lock(logging_);
    if (log_status_.ok()) log_status_ = database_->Write(how, &batch);
    return log_status_;
}

void rocksdb_database::sync() {
    const std::lock_guard marking(marking_);
    std::uint64_t sequence = 0;
    {
        const std::lock_guard lock(logging_);
        sequence = database_->GetLatestSequenceNumber();
        if (log_status_.ok() && sequence == synced_up_to_) return;
        if (log_status_.ok()) log_status_ = database_->SyncWAL();
        check_status(log_status_, [&] { return name() + ": sync"; });
    }
    mark_synced(sequence, false);
}

void rocksdb_database::flush() {
    flush_families();
    sync();
}

void rocksdb_database::flush_families() {
    const std::lock_guard lock(logging_);
    check_status(flush_all(), [&] { return name() + ": flush"; });
}

/// Requires the mutex of the log.
rocksdb::Status rocksdb_database::flush_all() {
    return log_status_.ok() ? database_->Flush(rocksdb::FlushOptions(), handles_) : log_status_;
}

// What is buffered goes first, so that a power cut never leaves these rows without earlier ones,
// and so that the log that is needed from here on begins behind the number that the files take: it
// has no gap. While only large batches come, nothing is buffered.
rocksdb::Status rocksdb_database::ingest(const std::vector<rocksdb::IngestExternalFileArg>& files) {
    const std::lock_guard lock(logging_);
    if (const rocksdb::Status flushed = flush_all(); !flushed.ok()) return flushed;
    fault::reach(fault::ingest_step::flushed);
    log_status_ = database_->IngestExternalFiles(files);
    return log_status_;
}

std::string rocksdb_database::new_ingest_file() {
    private_folder::make_within(folder_.ingest());
    return folder_.ingest() / (std::to_string(next_ingest_file_++) + ".sst");
}

// A writer that died on the way left them; none is part of the database under these names.
void rocksdb_database::drop_unfinished_ingest() const {
    std::error_code failed;
    std::filesystem::remove_all(folder_.ingest(), failed);
    if (failed)
        throw io_error(name() + ": remove \"" + folder_.ingest().string() +
                       "\", which a writer that died left: " + failed.message() +
                       "; check the disk and the permissions");
}

/// Requires the mutex, but for opening and closing.
void rocksdb_database::mark_synced(std::uint64_t sequence, bool closed) {
    folder_.write_mark({sequence, closed});
    synced_up_to_ = closed ? 0 : sequence;
}

rocksdb_ingest::~rocksdb_ingest() {
    if (!into_.is_here()) {
        leak(std::move(writer_)); // which would write what it has buffered
        return;
    }
    writer_.reset();
    std::error_code gone;
    for (const auto& files : files_)
        for (const std::string& file : files.external_files)
            std::filesystem::remove(file, gone);
}

void rocksdb_ingest::check(const rocksdb::Status& status) const {
    check_status(status,
                 [&] { return into_.name() + ": write the sorted file \"" + file_ + "\""; });
}

void rocksdb_ingest::begin(rocksdb_database::family_handle family) {
    end_file();
    if (files_.empty() || files_.back().column_family != family) {
        files_.emplace_back();
        files_.back().column_family = family;
        files_.back().options = how_to_ingest();
    }
    file_ = into_.new_ingest_file();
    files_.back().external_files.push_back(file_);
    // By default the file leaves the system's memory as it is written, to be read from the disk
    // again at once, by the ingestion, by lookups, and by the first merge.
    constexpr bool forget_file = false;
    writer_ = std::make_unique<rocksdb::SstFileWriter>(
        rocksdb::EnvOptions(), into_.options_for_files(), family, forget_file);
    check(writer_->Open(file_));
    fault::reach(fault::ingest_step::file_begun);
}

void rocksdb_ingest::put(const rocksdb::Slice& key, const rocksdb::Slice& value) {
    check(writer_->Put(key, value));
}

void rocksdb_ingest::erase(const rocksdb::Slice& key) {
    check(writer_->Delete(key));
}

void rocksdb_ingest::end_file() {
    if (!writer_) return;
    check(writer_->Finish());
    bytes_ += writer_->FileSize();
    writer_.reset();
    fault::reach(fault::ingest_step::file_written);
}

std::uint64_t rocksdb_ingest::finish() {
    end_file();
    check_status(into_.ingest(files_), [&] {
        return into_.name() + ": take in " + std::to_string(files_.size()) +
               " sets of sorted files";
    });
    fault::reach(fault::ingest_step::ingested);
    return bytes_;
}

} // namespace chainbase::archive::detail
