#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_writer.hpp>
#include <tools/block_log/log_header.hpp>

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

void cut_torn_end(file& log, const log_contents& contents) {
    if (contents.torn_bytes == 0) return;
    spdlog::warn("{}: the end is torn: {} are cut", log.path().string(),
                 describe_torn_end(contents));
    log.truncate(contents.index.log_bytes());
}

} // namespace

block_log_writer::block_log_writer(file log, block_log_index index,
                                   block_log_options options) noexcept
    : log_(std::move(log)), index_(std::move(index)), options_(options) {}

block_log_writer block_log_writer::create(const std::filesystem::path& path, std::string_view chain,
                                          block_log_options options) {
    require_valid(options);
    const chainbase::bytes header = encode_log_header(chain);
    file log = file::create(path);
    log.lock();
    log.write_first(header);
    block_log_index index(read_log_header(log, chain).checksum);
    return {std::move(log), std::move(index), options};
}

block_log_writer block_log_writer::open(const std::filesystem::path& path, std::string_view chain,
                                        block_log_options options) {
    require_valid(options);
    file log = file::open_write(path);
    log.lock();
    log_contents contents = read_contents(log, chain);
    cut_torn_end(log, contents);
    return {std::move(log), std::move(contents.index), options};
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
    log_.sync();
}

void block_log_writer::close() {
    sync(); // an index vouches for its records: they are on the device before it is saved
    try {
        index_.save(index_path(log_.path()));
    } catch (const std::exception& failure) {
        spdlog::info("{}: the index is not saved and will be rebuilt: {}", log_.path().string(),
                     failure.what());
    }
    log_.close();
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
            spdlog::warn("{}: a part of a record stays at the end; it is cut on the next opening",
                         log_.path().string());
        throw;
    }
}

} // namespace chainbase
