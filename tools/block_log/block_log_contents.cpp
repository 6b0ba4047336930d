#include <chainbase/fixed_string.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

namespace chainbase {
namespace {

using namespace block_log_format;

void require_magic(const file& log, const file_header& header, std::size_t size) {
    const std::size_t present = std::min(size, sizeof(header.magic));
    if (std::memcmp(header.magic.data(), log_magic.data(), present) != 0)
        throw format_error(log.path().string() + ": is not a block log (its first bytes differ)");
    if (size < sizeof(header))
        throw damaged_error(log.path().string() + ": the block log's header is cut at byte " +
                            std::to_string(size) + " of " + std::to_string(sizeof(header)) +
                            "; it holds no block: remove it and create or import it again");
}

void require_supported(const file& log, const file_header& header) {
    if (own_checksum(header) != header.checksum.value())
        throw damaged_error(log.path().string() +
                            ": the block log's header (bytes 0 to 63) is altered; get the file "
                            "again from a good copy");
    if (header.version.value() != version || header.header_bytes.value() != sizeof(header))
        throw format_error(log.path().string() + ": is a block log of format version " +
                           std::to_string(header.version.value()) + ", this program reads " +
                           std::to_string(version));
}

std::string end_of(const block_log_index& index) {
    return index.empty() ? "the header" : "block " + std::to_string(index.last_number());
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

/// Adds the records from the index's end to the log's end. Returns the number of bytes left over.
std::uint64_t scan(const file& log, block_log_index& index, std::string& reason,
                   const progress_callback& watch) {
    const std::uint64_t end = log.size();
    while (index.log_bytes() < end) {
        if (watch) watch(index.log_bytes(), end);
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

/// What a saved index file is worth.
struct saved_index {
    block_log_index usable;                   ///< empty unless it fits the log
    std::optional<block_log_index> unfitting; ///< consistent in itself, but the log's end differs
    std::string fault;                        ///< why it is not used
};

saved_index look_at_index(const file& log, const log_header& header, bool use_it) {
    index_check saved = load_index(index_path(log.path()), header.checksum, log.on());
    const block_log_index none(header.checksum);
    if (!saved.index) return {none, {}, std::move(saved.reason)};
    if (!use_it) return {none, std::move(saved.index), "is not used"};
    if (saved.index->matches(log)) return {std::move(*saved.index), {}, {}};
    return {none, std::move(saved.index), "does not fit the log"};
}

/// An index is saved only after its records are on disk: if the log has the bytes that the index
/// covers, an invalid record among them was complete once. That is damage, not a torn write.
bool knows_of_more(const std::optional<block_log_index>& saved, const file& log,
                   std::uint64_t offset) {
    return saved && saved->log_bytes() <= log.size() && saved->log_bytes() > offset;
}

std::string testimony_of(const std::optional<block_log_index>& saved, const file& log,
                         std::uint64_t offset) {
    if (!knows_of_more(saved, log, offset)) return {};
    return ", though its index says that it was complete (if " + index_path(log.path()).string() +
           " does not belong to this log, remove it: the end is then judged without it)";
}

std::string testimony_of(const mark_check& saved, const file& log, std::uint64_t offset) {
    if (!proves_synced(saved.mark, log, offset)) return {};
    return ", though it was synced: the mark records " + std::to_string(saved.mark->log_bytes) +
           " bytes on the device (if " + synced_path(log.path()).string() +
           " does not belong to this log, remove it: the end is then judged without it)";
}

std::string in_words(const search_result& behind) {
    if (behind.gave_up)
        return "; too much after it looks like a record and is not one, so what follows cannot "
               "be determined";
    if (!behind.record) return {};
    return "; the log is valid again from block " + std::to_string(behind.record->first_number()) +
           " at byte " + std::to_string(behind.record->offset());
}

/// The block expected at the end of what was scanned.
std::string expected_there(const block_log_contents& contents,
                           const std::optional<block_log_index>& saved) {
    const std::size_t scanned = contents.index.entries().size();
    const bool tells_of_it = saved && scanned < saved->entries().size() &&
                             saved->entries()[scanned].offset == contents.index.log_bytes();
    return tells_of_it ? "block " + std::to_string(saved->entries()[scanned].first_number)
                       : next_block(contents.index);
}

/// All consecutive valid records, starting with the one found.
unsynced_blocks count_blocks(const file& log, search_result found, std::uint64_t end,
                             search_budget& budget, const progress_callback& watch) {
    unsynced_blocks sum{found.record->first_number(), 0, 0};
    for (; found.record; found = search_record(log, found.record->end(), end, budget, watch)) {
        sum.last = found.record->last_number();
        sum.count += found.record->blocks();
    }
    return sum;
}

/// Decides what an invalid end is: damage (throws) or the remains of a crash.
void check_end(const file& log, block_log_contents& contents,
               const std::optional<block_log_index>& index, const mark_check& mark,
               const progress_callback& watch) {
    const std::uint64_t offset = contents.index.log_bytes();
    const std::uint64_t end = offset + contents.torn_bytes;
    search_budget budget(contents.torn_bytes);
    search_result behind = search_record(log, offset + 1, end, budget, watch);
    const std::string testimony =
        testimony_of(index, log, offset) + testimony_of(mark, log, offset);
    if (testimony.empty()) {
        if (!behind.record && !behind.gave_up) return;
        if (mark.mark && permits_unsynced_tail(*mark.mark, log)) {
            if (behind.record)
                contents.unsynced = count_blocks(log, std::move(behind), end, budget, watch);
            return;
        }
    }
    const bool by_index = knows_of_more(index, log, offset);
    throw damage_at(log, offset,
                    by_index ? expected_there(contents, index) : next_block(contents.index),
                    contents.torn_reason + in_words(behind) + testimony);
}

void warn_if_cut(const file& log, const std::optional<synced_mark>& mark) {
    if (!mark || fit_of(*mark, log) != mark_fit::beyond) return;
    spdlog::warn("{}: has {} bytes, though its mark records {} on the device: it was cut, or {} "
                 "does not belong to this log",
                 log.path().string(), log.size(), mark->log_bytes,
                 synced_path(log.path()).string());
}

/// No conclusive mark: an earlier version wrote the log, or the mark is lost.
std::uint64_t synced_bytes(const std::optional<synced_mark>& mark, const file& log,
                           const block_log_index& index) {
    const bool tells = mark && mark->is_open && fit_of(*mark, log) == mark_fit::fits;
    return tells ? std::min(mark->log_bytes, index.log_bytes()) : index.log_bytes();
}

/// Syncs the log before saving the index that vouches for it.
void save_quietly(const block_log_index& index, const file& log) {
    const std::filesystem::path path = index_path(log.path());
    try {
        log.sync();
        index.save(path, log.on());
    } catch (const std::exception& failure) {
        spdlog::info("{}: the index is not saved and will be rebuilt next time: {}", path.string(),
                     failure.what());
    }
}

} // namespace

block_log_format::file_header
block_log_format::make_header(const std::array<unsigned char, 8>& magic, const char* what,
                              std::string_view chain) {
    if (chain.empty()) throw usage_error(std::string(what) + " needs the name of its chain");
    const fixed_string<32> name(chain);
    file_header header;
    header.magic = magic;
    header.version = version;
    header.header_bytes = sizeof(header);
    header.chain.fill('\0');
    std::ranges::copy(name.view(), header.chain.begin());
    header.reserved = 0;
    header.checksum = own_checksum(header);
    return header;
}

bytes encode_log_header(std::string_view chain) {
    const file_header header = make_header(log_magic, "a block log", chain);
    const byte_view view = view_of(header);
    return {view.begin(), view.end()};
}

log_header read_log_header(const file& log, std::string_view expected_chain) {
    file_header header;
    const std::size_t size = log.read_at(0, writable_view_of(header));
    require_magic(log, header, size);
    require_supported(log, header);
    const std::size_t length = strnlen(header.chain.data(), header.chain.size());
    log_header result{{header.chain.data(), length}, header.checksum.value()};
    if (!expected_chain.empty() && result.chain != expected_chain)
        throw format_error(log.path().string() + ": holds blocks of " + result.chain + ", not of " +
                           std::string(expected_chain));
    return result;
}

block_log_contents read_contents(const file& log, std::string_view expected_chain,
                                 const opening_options& options) {
    log_header header = read_log_header(log, expected_chain);
    // Read the mark before the log's length: beside a writer the log grows first, the mark after
    // it.
    const mark_check mark = load_mark(synced_path(log.path()), header.checksum, log.on());
    const bool had_writer = log.is_locked_by_another();
    saved_index saved = look_at_index(log, header, options.use_index);
    block_log_contents result{header, std::move(saved.usable), 0, 0, {}, {},
                              {},     std::move(saved.fault)};
    const std::size_t known = result.index.entries().size();
    result.torn_bytes = scan(log, result.index, result.torn_reason, options.watch);
    if (result.torn_bytes > 0) check_end(log, result, saved.unfitting, mark, options.watch);
    warn_if_cut(log, mark.mark);
    result.cut = cut_in_words(log,
                              {result.index.log_bytes(), result.torn_bytes, end_of(result.index),
                               had_writer || log.is_locked_by_another()},
                              mark.mark);
    result.synced_bytes = synced_bytes(mark.mark, log, result.index);
    if (result.index_fault.empty() && result.index.entries().size() == known) return result;
    if (result.index_fault.empty()) result.index_fault = "is older than the log";
    if (!options.save_index) return result;
    spdlog::info("{}: the index {}; {} records scanned, {} blocks", log.path().string(),
                 result.index_fault, result.index.entries().size() - known, result.index.blocks());
    if (result.synced_bytes == result.index.log_bytes()) save_quietly(result.index, log);
    return result;
}

damaged_error damage_at(const file& log, std::uint64_t offset, const std::string& expected,
                        const std::string& reason) {
    return damaged_error(log.path().string() + ": damaged at byte " + std::to_string(offset) +
                         ", where " + expected + " is expected: " + reason +
                         ". Nothing was changed; get the file again from a good copy, or keep what "
                         "is good: chainbase-driver block-log salvage");
}

std::string cut_in_words(const file& log, const log_end& end,
                         const std::optional<synced_mark>& mark) {
    const bool is_short = mark && fit_of(*mark, log) == mark_fit::beyond;
    const bool is_excused =
        end.torn_bytes == 0 || end.has_writer || (mark && permits_unsynced_tail(*mark, log));
    if (!is_short && is_excused) return {};
    std::string text = "the log is cut: " + log.path().string() + " is whole up to byte " +
                       std::to_string(end.offset) + ", behind " + end.before;
    if (end.torn_bytes != 0)
        text += ", where " + std::to_string(end.torn_bytes) + " bytes of a record follow";
    if (is_short)
        text += ", and " + synced_path(log.path()).string() + " tells of " +
                std::to_string(mark->log_bytes) + " bytes";
    return text + ". Get the whole log from where it came from; a state that this log was "
                  "applied to is good, and goes on with the whole log";
}

log_record record_of(const file& log, const block_log_contents& contents, std::size_t number) {
    const block_log_index::entry& entry = contents.index.entries()[number];
    const std::uint64_t end = contents.index.end_of(number);
    record_check check = check_record(log, entry.offset, end);
    const std::string first = "block " + std::to_string(entry.first_number);
    if (!check.record) throw damage_at(log, entry.offset, first, check.reason);
    const std::uint64_t blocks_behind = number + 1 < contents.index.entries().size()
                                            ? contents.index.entries()[number + 1].blocks_before
                                            : contents.index.blocks();
    if (check.record->end() != end || check.record->first_number() != entry.first_number ||
        entry.blocks_before + check.record->blocks() != blocks_behind)
        throw damage_at(log, entry.offset, first,
                        "the record differs from the index (chainbase-driver block-log verify "
                        "tells which of them is wrong, repair-index makes the index anew)");
    return std::move(*check.record);
}

std::string describe_torn_end(const block_log_contents& contents, std::string_view fate) {
    std::string text = "the end is torn: " + std::to_string(contents.torn_bytes) + " bytes after " +
                       end_of(contents.index) + " (" + contents.torn_reason + ") " +
                       std::string(fate);
    if (const auto& lost = contents.unsynced)
        text += ", with " + std::to_string(lost->count) + " blocks from " +
                std::to_string(lost->first) + " to " + std::to_string(lost->last) +
                ", all of it after the " + "last sync: no promised block is lost";
    return text;
}

} // namespace chainbase
