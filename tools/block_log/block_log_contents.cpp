#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/record_search.hpp>

#include <spdlog/spdlog.h>

namespace chainbase {
namespace {

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
std::uint64_t scan(const file& log, block_log_index& index, std::string& reason,
                   const watcher& watch) {
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

void require_nothing_after(const file& log, const log_contents& contents, const watcher& watch) {
    const std::uint64_t offset = contents.index.log_bytes();
    search_budget budget(contents.torn_bytes);
    const auto [next, gave_up] =
        search_record(log, offset + 1, offset + contents.torn_bytes, budget, watch);
    if (gave_up)
        throw damage_at(log, offset, next_block(contents.index),
                        contents.torn_reason + "; so much behind it looks like a record and is "
                                               "none that what follows cannot be told");
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

saved_index look_at_index(const file& log, const log_header& header, bool use_it) {
    index_check saved = load_index(index_path(log.path()), header.checksum, log.on());
    const block_log_index none(header.checksum);
    if (!saved.index) return {none, {}, std::move(saved.reason)};
    if (!use_it) return {none, std::move(saved.index), "is not used"};
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
        index.save(path, log.on());
    } catch (const std::exception& failure) {
        spdlog::info("{}: the index is not saved and will be rebuilt next time: {}", path.string(),
                     failure.what());
    }
}

} // namespace

log_contents read_contents(const file& log, std::string_view expected_chain,
                           const opening_options& options) {
    log_header header = read_log_header(log, expected_chain);
    saved_index saved = look_at_index(log, header, options.use_index);
    log_contents result{header, std::move(saved.usable), 0, {}, std::move(saved.fault)};
    const std::size_t known = result.index.entries().size();
    result.torn_bytes = scan(log, result.index, result.torn_reason, options.watch);
    if (result.torn_bytes > 0) {
        require_nothing_after(log, result, options.watch);
        require_never_complete(log, result, saved.unfitting);
    }
    if (result.index_fault.empty() && result.index.entries().size() == known) return result;
    if (result.index_fault.empty()) result.index_fault = "is older than the log";
    if (!options.save_index) return result;
    spdlog::info("{}: the index {}; {} records scanned, {} blocks", log.path().string(),
                 result.index_fault, result.index.entries().size() - known, result.index.blocks());
    save_quietly(result.index, log);
    return result;
}

damaged_error damage_at(const file& log, std::uint64_t offset, const std::string& expected,
                        const std::string& reason) {
    return damaged_error(log.path().string() + ": damaged at byte " + std::to_string(offset) +
                         ", where " + expected + " is expected: " + reason +
                         ". Nothing was changed; get the file again from a good copy, or keep what "
                         "is good: chainbase-driver block-log salvage");
}

log_record record_of(const file& log, const log_contents& contents, std::size_t number) {
    const block_log_index::entry& entry = contents.index.entries()[number];
    const std::uint64_t end = contents.index.end_of(number);
    record_check check = check_record(log, entry.offset, end);
    const std::string first = "block " + std::to_string(entry.first_number);
    if (!check.record) throw damage_at(log, entry.offset, first, check.reason);
    if (check.record->end() != end || check.record->first_number() != entry.first_number)
        throw damage_at(log, entry.offset, first,
                        "the record differs from the index (chainbase-driver block-log verify "
                        "tells which of them is wrong, repair-index makes the index anew)");
    return std::move(*check.record);
}

std::string describe_torn_end(const log_contents& contents) {
    return std::to_string(contents.torn_bytes) + " bytes after " +
           (contents.index.empty() ? "the header"
                                   : "block " + std::to_string(contents.index.last_number())) +
           " (" + contents.torn_reason + ")";
}

} // namespace chainbase
