#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/bytes.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace chainbase {
namespace {

using namespace block_log_format;

template <class T>
void append(bytes& to, const T& value) {
    const byte_view view = view_of(value);
    to.insert(to.end(), view.begin(), view.end());
}

/// An unreadable index counts as missing: it is rebuilt.
std::optional<bytes> try_read_all(const std::filesystem::path& path, disk* on) {
    try {
        const file source = file::open_read(path, on);
        bytes result(source.size());
        result.resize(source.read_at(0, result));
        return result;
    } catch (const io_error&) {
        return {};
    }
}

/// Two processes may rebuild an index at once: each writes its own temporary file; the last rename
/// wins.
void replace_file(const std::filesystem::path& path, byte_view content, disk* on) {
    std::filesystem::path temporary = path;
    temporary += '.';
    temporary += std::to_string(::getpid());
    disk& names = names_on(on);
    const auto remove_leftover = [&] {
        try {
            names.remove(temporary);
        } catch (const io_error&) { // writing the file below reports what is in its way
        }
    };
    remove_leftover();
    try {
        file::create(temporary, on).write_at(0, content);
        names.rename(temporary, path);
    } catch (...) {
        remove_leftover();
        throw;
    }
}

std::string fault_of(byte_view raw, std::uint64_t header_checksum) {
    constexpr std::size_t fixed = sizeof(index_header) + sizeof(little_uint64_buf_t);
    if (raw.size() < fixed) return "is short";
    const auto header = load<index_header>(raw, 0);
    if (header.magic != index_magic) return "is not an index";
    if (header.version.value() != version) return "has another format version";
    if (raw.size() != fixed + std::uint64_t{header.records.value()} * sizeof(index_entry))
        return "is short";
    const std::size_t covered = raw.size() - sizeof(little_uint64_buf_t);
    if (load<little_uint64_buf_t>(raw, covered).value() != checksum(raw.first(covered)))
        return "is damaged";
    if (header.header_checksum.value() != header_checksum) return "belongs to another log";
    return {};
}

} // namespace

block_log_index::block_log_index(std::uint64_t header_checksum)
    : header_checksum_(header_checksum), log_bytes_(sizeof(file_header)) {}

std::uint64_t block_log_index::end_of(std::size_t record) const noexcept {
    return record + 1 < entries_.size() ? entries_[record + 1].offset : log_bytes_;
}

std::size_t block_log_index::record_for(std::uint64_t number) const noexcept {
    if (empty() || number < entries_.front().first_number || number > last_number_)
        return entries_.size();
    const auto after = std::ranges::upper_bound(entries_, number, {}, &entry::first_number);
    return static_cast<std::size_t>(after - entries_.begin()) - 1;
}

std::uint64_t block_log_index::position_of(std::uint64_t number) const noexcept {
    if (empty() || number >= last_number_) return log_bytes_;
    if (number < entries_.front().first_number) return entries_.front().offset;
    const std::size_t record = record_for(number);
    const bool is_last = record + 1 == entries_.size();
    const entry& in = entries_[record];
    const entry behind =
        is_last ? entry{log_bytes_, last_number_ + 1, blocks_} : entries_[record + 1];
    if (behind.blocks_before - in.blocks_before == 1) return behind.offset;
    const double part = (static_cast<double>(number - in.first_number) + 1) /
                        static_cast<double>(behind.first_number - in.first_number);
    return in.offset +
           static_cast<std::uint64_t>(part * static_cast<double>(behind.offset - in.offset));
}

void block_log_index::add(const log_record& record) {
    entries_.push_back({record.offset(), record.first_number(), blocks_});
    log_bytes_ = record.end();
    last_checksum_ = record.checksum();
    last_number_ = record.last_number();
    blocks_ += record.blocks();
}

bool block_log_index::matches(const file& log) const {
    if (log.size() < log_bytes_) return false;
    if (empty()) return true;
    const record_check last = check_record(log, entries_.back().offset, log_bytes_);
    return last.record && last.record->end() == log_bytes_ &&
           last.record->checksum() == last_checksum_ &&
           last.record->last_number() == last_number_ &&
           entries_.back().blocks_before + last.record->blocks() == blocks_;
}

/// Checks the invariants: a matching checksum alone does not prove them.
bool block_log_index::is_consistent() const noexcept {
    entry least{sizeof(file_header), 0, 0};
    for (const entry& one : entries_) {
        const bool first = &one == entries_.data();
        if (first && (one.offset != least.offset || one.blocks_before != 0)) return false;
        if (one.offset < least.offset || one.first_number < least.first_number ||
            one.blocks_before < least.blocks_before)
            return false;
        least = {one.offset + min_record_bytes, one.first_number + 1, one.blocks_before + 1};
    }
    if (empty()) return log_bytes_ == least.offset && blocks_ == 0;
    return log_bytes_ >= least.offset && blocks_ >= least.blocks_before &&
           last_number_ >= entries_.back().first_number;
}

void block_log_index::save(const std::filesystem::path& path, disk* on) const {
    if (entries_.size() > UINT32_MAX)
        throw limit_error(path.string() + ": an index has at most " + std::to_string(UINT32_MAX) +
                          " records, the log has " + std::to_string(entries_.size()) +
                          "; split the log (chainbase-driver block-log split)");
    index_header header;
    header.magic = index_magic;
    header.version = version;
    header.records = static_cast<std::uint32_t>(entries_.size());
    header.header_checksum = header_checksum_;
    header.log_bytes = log_bytes_;
    header.last_checksum = last_checksum_;
    header.last_number = last_number_;
    header.blocks = blocks_;
    bytes raw;
    append(raw, header);
    for (const entry& from : entries_)
        append(raw,
               index_entry{little_uint64_buf_t(from.offset), little_uint64_buf_t(from.first_number),
                           little_uint64_buf_t(from.blocks_before)});
    append(raw, little_uint64_buf_t(checksum(raw)));

    replace_file(path, raw, on);
}

index_check load_index(const std::filesystem::path& path, std::uint64_t header_checksum, disk* on) {
    if (!names_on(on).exists(path)) return {{}, "is missing"};
    const std::optional<bytes> content = try_read_all(path, on);
    if (!content) return {{}, "cannot be read"};
    const byte_view raw = *content;
    if (std::string fault = fault_of(raw, header_checksum); !fault.empty())
        return {{}, std::move(fault)};
    const auto header = load<index_header>(raw, 0);
    block_log_index result(header_checksum);
    for (std::uint32_t i = 0; i < header.records.value(); ++i) {
        const auto from = load<index_entry>(raw, sizeof(index_header) + i * sizeof(index_entry));
        result.entries_.push_back(
            {from.offset.value(), from.first_number.value(), from.blocks_before.value()});
    }
    result.log_bytes_ = header.log_bytes.value();
    result.last_checksum_ = header.last_checksum.value();
    result.last_number_ = header.last_number.value();
    result.blocks_ = header.blocks.value();
    if (!result.is_consistent()) return {{}, "is inconsistent"};
    return {std::move(result), {}};
}

std::filesystem::path index_path(const std::filesystem::path& log) {
    std::filesystem::path result = log;
    result += ".index";
    return result;
}

} // namespace chainbase
