#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_writer.hpp>

#include <spdlog/spdlog.h>

#include <utility>

namespace chainbase {
namespace {

void require_valid(const block_log_options& options) {
    if (options.level < 1 || options.level > 19)
        throw usage_error("block log: the compression level is 1 to 19");
    if (options.batch_bytes > max_batch_bytes)
        throw usage_error("block log: a batch has at most " + std::to_string(max_batch_bytes) +
                          " bytes");
}

/// The cut is synced before more is appended: bytes of the torn end could be valid behind new ones.
void cut_torn_end(file& log, const block_log_contents& contents) {
    if (contents.torn_bytes == 0) return;
    spdlog::warn("{}: {}", log.path().string(), describe_torn_end(contents, "are cut"));
    log.truncate(contents.index.log_bytes());
    log.sync();
}

/// A failed sync may have dropped what was written behind `synced`, and the next sync would not
/// report it. Rewrites what the file still shows, if it is what it should be.
void write_again(file& log, const block_log_index& index, std::uint64_t synced) {
    for (std::size_t i = index.entries().size(); i > 0; --i) {
        const std::uint64_t offset = index.entries()[i - 1].offset;
        if (offset < synced) break;
        const record_check now = check_record(log, offset, index.end_of(i - 1));
        if (!now.record)
            throw damage_at(log, offset,
                            "block " + std::to_string(index.entries()[i - 1].first_number),
                            now.reason + ", after the device failed");
        log.write_at(offset, now.record->raw());
    }
}

/// A previous writer may have died of a failed sync.
void sync_what_was_left(file& log, const block_log_contents& contents) {
    if (contents.synced_bytes == contents.index.log_bytes()) return;
    write_again(log, contents.index, contents.synced_bytes);
    log.sync();
}

void remove_quietly(const std::filesystem::path& path, disk* on) {
    try {
        names_on(on).remove(path);
    } catch (const error&) { // the first failure is reported
    }
}

} // namespace

block_log_writer::block_log_writer(file log, synced_mark_file mark, block_log_index index,
                                   block_log_options options) noexcept
    : log_(std::move(log)), mark_(std::move(mark)), index_(std::move(index)), options_(options),
      synced_(index_.log_bytes()) {}

block_log_writer block_log_writer::create(const std::filesystem::path& path, std::string_view chain,
                                          block_log_options options) {
    require_valid(options);
    const chainbase::bytes header = encode_log_header(chain);
    file log = file::create(path, options.on);
    log.lock();
    log.write_first(header);
    try {
        log.sync();
        block_log_index index(read_log_header(log, chain).checksum);
        synced_mark_file mark = synced_mark_file::place(log, synced_mark::of(log, index));
        return {std::move(log), std::move(mark), std::move(index), options};
    } catch (...) {
        remove_quietly(path, options.on);
        remove_quietly(synced_path(path), options.on);
        throw;
    }
}

block_log_writer block_log_writer::open(const std::filesystem::path& path, std::string_view chain,
                                        block_log_options options) {
    require_valid(options);
    file log = file::open_write(path, options.on);
    log.lock();
    // what an earlier writer left: from here on a failed sync is about this writer's bytes
    log.sync();
    opening_options how;
    how.on = options.on;
    block_log_contents contents = read_contents(log, chain, how);
    cut_torn_end(log, contents);
    sync_what_was_left(log, contents);
    synced_mark_file mark = synced_mark_file::place(log, synced_mark::of(log, contents.index));
    return {std::move(log), std::move(mark), std::move(contents.index), options};
}

block_log_writer::~block_log_writer() {
    if (!log_.is_open()) return;
    try {
        close();
    } catch (const std::exception& failure) {
        spdlog::error("{}: {} blocks are not written: {}", log_.path().string(), batch_.blocks,
                      failure.what());
    }
}

void block_log_writer::require_may_follow(std::uint64_t number) const {
    if (const auto head = head_number(); head && number <= *head)
        throw usage_error(log_.path().string() + ": block " + std::to_string(number) +
                          " cannot follow block " + std::to_string(*head));
}

void block_log_writer::append(const block& next) {
    require_may_follow(next.number);
    const chainbase::bytes encoded = encode_block(next);
    if (encoded.size() > block_log_format::max_record_bytes / 2)
        throw limit_error(log_.path().string() + ": block " + std::to_string(next.number) +
                          " takes " + std::to_string(encoded.size()) + " bytes, the limit is " +
                          std::to_string(block_log_format::max_record_bytes / 2));
    if (batch_.unpacked.size() + encoded.size() > options_.batch_bytes) flush();
    batch_.add(next.number, encoded);
}

void block_log_writer::append(log_record next) {
    require_may_follow(next.first_number());
    flush();
    const log_record record = std::move(next).moved_to(index_.log_bytes());
    write_record(record);
    index_.add(record);
}

void block_log_writer::flush() {
    if (batch_.empty()) return;
    const log_record record = pack_record(batch_, options_.level, index_.log_bytes());
    write_record(record);
    index_.add(record);
    batch_ = {};
}

void block_log_writer::sync() {
    flush();
    if (is_doubtful_) {
        spdlog::warn("{}: bytes {} to {} may not have reached the device, and are written again",
                     log_.path().string(), synced_, bytes());
        write_again(log_, index_, synced_);
    }
    is_doubtful_ = true;
    log_.sync();
    is_doubtful_ = false;
    synced_ = bytes();
    mark_.set(synced_mark::of(log_, index_));
}

void block_log_writer::close() {
    sync(); // an index vouches for its records: sync them before it is saved
    close_mark();
    try {
        index_.save(index_path(log_.path()), log_.on());
    } catch (const std::exception& failure) {
        spdlog::info("{}: the index is not saved and will be rebuilt: {}", log_.path().string(),
                     failure.what());
    }
    abandon();
}

/// Everything was synced. Failing to close the mark does no harm to a good log.
void block_log_writer::close_mark() noexcept {
    try {
        synced_mark mark = synced_mark::of(log_, index_);
        mark.is_open = false;
        mark_.set(mark);
        mark_.sync();
    } catch (const std::exception& failure) {
        spdlog::info("{}: the mark still names a writer: {}", log_.path().string(), failure.what());
    }
}

void block_log_writer::abandon() noexcept {
    log_.close();
    mark_.close();
}

std::optional<std::uint64_t> block_log_writer::head_number() const noexcept {
    if (!batch_.empty()) return batch_.last_number;
    if (!index_.empty()) return index_.last_number();
    return {};
}

void block_log_writer::write_record(const log_record& record) {
    try {
        log_.write_at(record.offset(), record.raw());
    } catch (...) {
        if (!log_.try_truncate(record.offset()))
            spdlog::warn("{}: a part of a record stays at the end; the next opening cuts it off",
                         log_.path().string());
        throw;
    }
}

} // namespace chainbase
