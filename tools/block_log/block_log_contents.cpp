#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/block_log_format.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

namespace chainbase {
namespace {

constexpr std::size_t search_window = 1 << 20;

/// Whether the length in the header at `offset` leads to a trailer that leads back: asked before a
/// whole record is read and summed, so that many magic numbers without records cost little.
bool may_begin_at(const file& log, std::uint64_t offset, std::uint64_t end) {
    using namespace block_log_format;
    bytes raw(sizeof(record_header));
    if (log.read_at(offset, raw) < raw.size()) return false;
    const std::uint64_t size = load<record_header>(raw).packed_bytes.value() + min_record_bytes;
    if (size > end - offset) return false;
    raw.resize(sizeof(record_trailer));
    if (log.read_at(offset + size - raw.size(), raw) < raw.size()) return false;
    const auto trailer = load<record_trailer>(raw);
    return trailer.magic.value() == record_end_magic && trailer.record_bytes.value() == size;
}

/// The first valid record that begins in [from, end), found by its magic number alone, as after
/// damage no length can be trusted.
std::optional<log_record> search_record(const file& log, std::uint64_t from, std::uint64_t end) {
    const block_log_format::little_uint32_buf_t magic(block_log_format::record_magic);
    const auto pattern = std::as_bytes(std::span(&magic, 1));
    bytes window(search_window);
    while (from + block_log_format::min_record_bytes <= end) {
        const std::size_t size = log.read_at(from, window);
        const auto last = window.begin() + static_cast<std::ptrdiff_t>(size);
        const auto find = [&](auto at) {
            return std::search(at, last, pattern.begin(), pattern.end());
        };
        for (auto hit = find(window.begin()); hit != last; hit = find(hit + 1)) {
            const std::uint64_t at = from + static_cast<std::uint64_t>(hit - window.begin());
            if (!may_begin_at(log, at, end)) continue;
            if (record_check check = check_record(log, at, end); check.record)
                return std::move(check.record);
        }
        if (size < window.size()) break;
        from += size - (pattern.size() - 1); // the pattern may lie across two windows
    }
    return {};
}

std::string next_block(const block_log_index& index) {
    return index.empty() ? "the first block"
                         : "the block after " + std::to_string(index.last_number());
}

void require_order(const file& log, const block_log_index& index, const log_record& record) {
    if (index.empty() || record.first_number() > index.last_number()) return;
    throw damage_at(log, record.offset(), next_block(index),
                    "block " + std::to_string(record.first_number()) + " is out of order");
}

/// Adds the records from the index's end to the log's end. Returns the bytes left over.
std::uint64_t scan(const file& log, block_log_index& index, std::string& reason) {
    const std::uint64_t end = log.size();
    while (index.log_bytes() < end) {
        record_check check = check_record(log, index.log_bytes(), end);
        if (!check.record) {
            reason = std::move(check.reason);
            break;
        }
        require_order(log, index, *check.record);
        index.add(*check.record);
    }
    return end - index.log_bytes();
}

void require_nothing_after(const file& log, const log_contents& contents) {
    const std::uint64_t offset = contents.index.log_bytes();
    const auto next = search_record(log, offset + 1, offset + contents.torn_bytes);
    if (!next) return;
    throw damage_at(log, offset, next_block(contents.index),
                    contents.torn_reason + "; the log is valid again from block " +
                        std::to_string(next->first_number()) + " at byte " +
                        std::to_string(next->offset()));
}

/// What the file beside the log is worth.
struct saved_index {
    block_log_index usable;                   ///< empty unless it fits the log
    std::optional<block_log_index> unfitting; ///< consistent in itself, but the log's end differs
    std::string fault;                        ///< why it is not used as it is
};

saved_index look_at_index(const file& log, const log_header& header) {
    index_check saved = load_index(index_path(log.path()), header.checksum);
    const block_log_index none(header.checksum);
    if (!saved.index) return {none, {}, std::move(saved.reason)};
    if (saved.index->matches(log)) return {std::move(*saved.index), {}, {}};
    return {none, std::move(saved.index), "does not fit the log"};
}

/// An index is saved when its records are on disk: if the log has the bytes that it tells of, an
/// invalid one among them was complete once. That is damage, not the torn end of a write.
void require_never_complete(const file& log, const log_contents& contents,
                            const std::optional<block_log_index>& saved) {
    const std::uint64_t offset = contents.index.log_bytes();
    if (!saved || saved->log_bytes() > log.size() || saved->log_bytes() <= offset) return;
    const auto& known = saved->entries();
    const std::size_t scanned = contents.index.entries().size();
    const bool tells_of_it = scanned < known.size() && known[scanned].offset == offset;
    throw damage_at(log, offset,
                    tells_of_it ? "block " + std::to_string(known[scanned].first_number)
                                : next_block(contents.index),
                    contents.torn_reason + ", though its index says that it was complete (if " +
                        index_path(log.path()).string() +
                        " is not of this log, remove it: the end is then cut as a torn one)");
}

/// The log goes to the device before the index that vouches for it.
void save_quietly(const block_log_index& index, const file& log) {
    const std::filesystem::path path = index_path(log.path());
    try {
        log.sync();
        index.save(path);
    } catch (const std::exception& failure) {
        spdlog::info("{}: the index is not saved and will be rebuilt next time: {}", path.string(),
                     failure.what());
    }
}

} // namespace

log_contents read_contents(const file& log, std::string_view expected_chain) {
    log_header header = read_log_header(log, expected_chain);
    saved_index saved = look_at_index(log, header);
    log_contents result{header, std::move(saved.usable), 0, {}};
    const std::size_t known = result.index.entries().size();
    result.torn_bytes = scan(log, result.index, result.torn_reason);
    if (result.torn_bytes > 0) {
        require_nothing_after(log, result);
        require_never_complete(log, result, saved.unfitting);
    }
    if (saved.fault.empty() && result.index.entries().size() == known) return result;
    spdlog::info("{}: the index {}; {} records scanned, {} blocks", log.path().string(),
                 saved.fault.empty() ? "is older than the log" : saved.fault,
                 result.index.entries().size() - known, result.index.blocks());
    save_quietly(result.index, log);
    return result;
}

damaged_error damage_at(const file& log, std::uint64_t offset, const std::string& expected,
                        const std::string& reason) {
    return damaged_error(log.path().string() + ": damaged at byte " + std::to_string(offset) +
                         ", where " + expected + " is expected: " + reason +
                         ". Nothing was changed; get the file again from a good copy");
}

std::string describe_torn_end(const log_contents& contents) {
    return std::to_string(contents.torn_bytes) + " bytes after " +
           (contents.index.empty() ? "the header"
                                   : "block " + std::to_string(contents.index.last_number())) +
           " (" + contents.torn_reason + ")";
}

} // namespace chainbase
