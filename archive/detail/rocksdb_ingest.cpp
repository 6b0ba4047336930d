#include <archive/detail/ingest_step.hpp>
#include <archive/detail/rocksdb_ingest.hpp>
#include <archive/detail/rocksdb_status.hpp>

#include <system_error>

namespace chainbase::archive::detail {

namespace {

rocksdb::IngestExternalFileOptions how_to_ingest() {
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;          // by a second name: nothing is copied
    how.write_global_seqno = false; // kept in the manifest; the file need not change
    return how;
}

} // namespace

rocksdb_ingest::~rocksdb_ingest() {
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
