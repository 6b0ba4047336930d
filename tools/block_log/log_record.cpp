#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/log_record.hpp>

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace chainbase {
namespace {

using namespace block_log_format;

template <class T>
void store(bytes& to, std::size_t position, const T& value) {
    std::memcpy(to.data() + position, &value, sizeof(T));
}

record_header header_of(byte_view raw) {
    return load<record_header>(raw);
}

record_trailer trailer_of(byte_view raw) {
    return load<record_trailer>(raw.last(sizeof(record_trailer)));
}

byte_view covered_by_checksum(byte_view raw) {
    return raw.first(raw.size() - sizeof(record_trailer::checksum));
}

/// Fills `raw` with the compressed batch at its place; header and trailer are still blank. Returns
/// the compressed size.
std::size_t compress(const record_batch& batch, int level, bytes& raw) {
    raw.resize(min_record_bytes + ZSTD_compressBound(batch.unpacked.size()));
    const std::size_t packed =
        ZSTD_compress(raw.data() + sizeof(record_header), raw.size() - min_record_bytes,
                      batch.unpacked.data(), batch.unpacked.size(), level);
    if (ZSTD_isError(packed) != 0)
        throw error(std::string("zstd: cannot compress a record: ") + ZSTD_getErrorName(packed));
    if (std::max(packed, batch.unpacked.size()) > max_record_bytes)
        throw limit_error("block " + std::to_string(batch.last_number) +
                          ": a record takes at most " + std::to_string(max_record_bytes) +
                          " bytes");
    raw.resize(packed + min_record_bytes);
    return packed;
}

bool has_impossible_blocks(const record_header& header) {
    return header.blocks.value() == 0 || header.first_number.value() > header.last_number.value();
}

/// What is wrong with a record header that has `room` bytes to the log's end; empty when nothing
/// is.
std::string_view fault_of(const record_header& header, std::uint64_t room) {
    if (header.magic.value() != record_magic) return "no record begins here";
    const std::uint64_t packed = header.packed_bytes.value();
    if (packed > max_record_bytes || header.unpacked_bytes.value() > max_record_bytes)
        return "the record's length exceeds the limit";
    if (packed + min_record_bytes > room) return "the record ends after the file does";
    return {};
}

/// What is wrong with the complete bytes of a record; empty when nothing is.
std::string_view fault_of(byte_view raw) {
    const record_header header = header_of(raw);
    const record_trailer trailer = trailer_of(raw);
    if (checksum(covered_by_checksum(raw)) != trailer.checksum.value())
        return "the record's checksum does not match";
    if (trailer.magic.value() != record_end_magic || trailer.record_bytes.value() != raw.size())
        return "the record's trailer does not match its header";
    if (has_impossible_blocks(header)) return "the record states impossible block numbers";
    return {};
}

constexpr std::size_t search_window = 1 << 20;

/// The size of the record whose header seems to be at `offset`, if its length leads to a trailer
/// that leads back; else 0. Checked before a whole record is read and summed, so that many magic
/// numbers without records cost little.
std::uint64_t claimed_bytes(const file& log, std::uint64_t offset, std::uint64_t end) {
    bytes raw(sizeof(record_header));
    if (log.read_at(offset, raw) < raw.size()) return 0;
    const record_header header = header_of(raw);
    if (!fault_of(header, end - offset).empty() || has_impossible_blocks(header)) return 0;
    const std::uint64_t size = header.packed_bytes.value() + min_record_bytes;
    raw.resize(sizeof(record_trailer));
    if (log.read_at(offset + size - raw.size(), raw) < raw.size()) return 0;
    const record_trailer trailer = trailer_of(raw);
    const bool leads_back =
        trailer.magic.value() == record_end_magic && trailer.record_bytes.value() == size;
    return leads_back ? size : 0;
}

} // namespace

std::uint64_t log_record::first_number() const noexcept {
    return header_of(raw_).first_number.value();
}
std::uint64_t log_record::last_number() const noexcept {
    return header_of(raw_).last_number.value();
}
std::uint32_t log_record::blocks() const noexcept {
    return header_of(raw_).blocks.value();
}
std::uint64_t log_record::checksum() const noexcept {
    return trailer_of(raw_).checksum.value();
}

std::uint32_t log_record::unpacked_bytes() const noexcept {
    return header_of(raw_).unpacked_bytes.value();
}

bytes log_record::unpack() const {
    const record_header header = header_of(raw_);
    bytes result(header.unpacked_bytes.value());
    const std::size_t size =
        ZSTD_decompress(result.data(), result.size(), raw_.data() + sizeof(record_header),
                        header.packed_bytes.value());
    if (ZSTD_isError(size) != 0)
        throw damaged_error(std::string("the compressed blocks do not unpack: ") +
                            ZSTD_getErrorName(size));
    if (size != result.size()) throw damaged_error("the blocks unpack to another length");
    return result;
}

record_check check_record(const file& log, std::uint64_t offset, std::uint64_t end) {
    if (end < offset + min_record_bytes) return {{}, "the file ends in the middle of a record"};
    log_record record;
    record.offset_ = offset;
    record.raw_.resize(sizeof(record_header));
    log.read_at(offset, record.raw_);
    const record_header header = header_of(record.raw_);
    if (const auto fault = fault_of(header, end - offset); !fault.empty())
        return {{}, std::string(fault)};
    record.raw_.resize(header.packed_bytes.value() + min_record_bytes);
    if (log.read_at(offset, record.raw_) < record.raw_.size())
        return {{}, "the file became shorter while it was read"};
    if (const auto fault = fault_of(record.raw_); !fault.empty()) return {{}, std::string(fault)};
    return {std::move(record), {}};
}

record_check check_record_before(const file& log, std::uint64_t end) {
    if (end < sizeof(file_header) + min_record_bytes) return {{}, "no record ends here"};
    bytes raw(sizeof(record_trailer));
    log.read_at(end - raw.size(), raw);
    const record_trailer trailer = trailer_of(raw);
    const std::uint64_t length = trailer.record_bytes.value();
    if (trailer.magic.value() != record_end_magic || length > end - sizeof(file_header))
        return {{}, "no record ends here"};
    record_check result = check_record(log, end - length, end);
    if (result.record && result.record->end() != end) return {{}, "no record ends here"};
    return result;
}

void record_batch::add(std::uint64_t number, byte_view encoded) {
    const std::size_t before = unpacked.size();
    try {
        byte_writer(unpacked).byte_string(encoded);
    } catch (...) {
        unpacked.resize(before);
        throw;
    }
    if (empty()) first_number = number;
    last_number = number;
    ++blocks;
}

log_record pack_record(const record_batch& batch, int level, std::uint64_t offset) {
    log_record record;
    record.offset_ = offset;
    bytes& raw = record.raw_;
    const std::size_t packed = compress(batch, level, raw);

    record_header header;
    header.magic = record_magic;
    header.packed_bytes = static_cast<std::uint32_t>(packed);
    header.unpacked_bytes = static_cast<std::uint32_t>(batch.unpacked.size());
    header.blocks = batch.blocks;
    header.first_number = batch.first_number;
    header.last_number = batch.last_number;
    store(raw, 0, header);

    const std::size_t trailer_at = raw.size() - sizeof(record_trailer);
    record_trailer trailer;
    trailer.record_bytes = static_cast<std::uint32_t>(raw.size());
    trailer.magic = record_end_magic;
    trailer.checksum = 0;
    store(raw, trailer_at, trailer);
    trailer.checksum = checksum(covered_by_checksum(raw));
    store(raw, trailer_at, trailer);
    return record;
}

record_blocks::record_blocks(const log_record& record)
    : unpacked_(record.unpack()), reader_(unpacked_, "record"),
      first_number_(record.first_number()), stated_last_(record.last_number()),
      stated_blocks_(record.blocks()) {}

std::optional<record_blocks::encoded_block> record_blocks::peek() const {
    if (reader_.remaining() == 0) {
        require_end();
        return {};
    }
    byte_reader ahead = reader_;
    const byte_view encoded = ahead.byte_string();
    const std::uint64_t number = byte_reader(encoded, "a block").unsigned_number();
    const bool in_order = delivered_ == 0 ? number == first_number_ : number > last_number_;
    if (!in_order) throw damaged_error("block " + std::to_string(number) + " is out of order");
    return encoded_block{number, encoded};
}

void record_blocks::step_over(std::uint64_t number) {
    const std::size_t begin = reader_.position();
    reader_.byte_string();
    encoded_ = byte_view(unpacked_).subspan(begin, reader_.position() - begin);
    last_number_ = number;
    ++delivered_;
}

std::optional<block> record_blocks::next() {
    const auto one = peek();
    if (!one) return {};
    block result = decode_block(one->encoded);
    step_over(one->number);
    return result;
}

std::optional<record_blocks::encoded_block> record_blocks::next_encoded() {
    const auto one = peek();
    if (one) step_over(one->number);
    return one;
}

std::uint64_t record_blocks::skip_below(std::uint64_t number) {
    std::uint64_t skipped = 0;
    for (auto one = peek(); one && one->number < number; one = peek(), ++skipped)
        step_over(one->number);
    return skipped;
}

void record_blocks::require_end() const {
    if (delivered_ != stated_blocks_)
        throw damaged_error("the record holds another number of blocks than it states");
    if (last_number_ != stated_last_)
        throw damaged_error("the record ends with block " + std::to_string(last_number_) +
                            ", not with the block that it states");
}

search_result search_record(const file& log, std::uint64_t from, std::uint64_t end,
                            search_budget& budget, const progress_callback& watch) {
    const little_uint32_buf_t magic(record_magic);
    const byte_view pattern = view_of(magic);
    bytes window(search_window);
    while (from + min_record_bytes <= end) {
        if (watch) watch(from, end);
        const std::size_t size = log.read_at(from, window);
        const auto last = window.begin() + static_cast<std::ptrdiff_t>(size);
        const auto find = [&](auto at) {
            return std::search(at, last, pattern.begin(), pattern.end());
        };
        for (auto hit = find(window.begin()); hit != last; hit = find(hit + 1)) {
            const std::uint64_t at = from + static_cast<std::uint64_t>(hit - window.begin());
            const std::uint64_t claimed = claimed_bytes(log, at, end);
            if (claimed == 0) continue;
            if (watch) watch(at, end);
            if (!budget.spend(claimed)) return {{}, true};
            if (record_check check = check_record(log, at, end); check.record)
                return {std::move(check.record), false};
        }
        if (size < window.size()) break;
        from += size - (pattern.size() - 1); // the pattern may span two windows
    }
    return {};
}

} // namespace chainbase
