#include <tools/archive_figures.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace chainbase::inspect {

namespace {

std::string or_dash(const std::optional<std::uint64_t>& value) {
    return value ? grouped(*value) : "-";
}

std::string per_row(std::uint64_t bytes, std::uint64_t rows) {
    if (rows == 0) return "-";
    return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(rows));
}

std::string time_text(std::int64_t seconds) {
    return fmt::format("{:%F %T} UTC", fmt::gmtime(std::time_t{seconds}));
}

std::string condition_text(const archive_contents& found) {
    if (!found.state_refusal.empty()) return "not readable now: " + found.state_refusal;
    switch (found.condition) {
    case condition::closed:
        return "closed properly";
    case condition::writer_running:
        return fmt::format("a writer is running (process {}){}", found.writer,
                           found.is_state_consistent ? "" : "; read in the middle of an operation");
    case condition::writer_died:
        return fmt::format("the last writer (process {}) died", found.writer);
    }
    return "unknown";
}

std::string kind_text(const archive_contents& found) {
    if (found.is_there) return "store " + (found.store.empty() ? "unknown" : found.store);
    return "which is not there";
}

std::string standing_text(const archive::rocksdb_facts& facts) {
    const std::string closed =
        facts.is_being_written ? "being written"
        : facts.closed         ? "closed properly"
                               : "its last writer did not close it; the next opening reads its log";
    return fmt::format("           {}; synced up to write {} of {}; {} log file(s), {} bytes\n",
                       closed, grouped(facts.synced), grouped(facts.last_write),
                       grouped(facts.log_files), grouped(facts.log_bytes));
}

std::string tables_text(const archive_contents& found) {
    text_table all({"table", "rows", "also in memory", "ahead of the state", "objects in memory",
                    "retired", "handed over", "record bytes", "keys"});
    for (const archive_contents::table& one : found.tables)
        all.add({one.name, or_dash(one.rows), grouped(one.in_both()), grouped(one.ahead),
                 or_dash(one.in_memory), or_dash(one.retired), or_dash(one.handed_over),
                 or_dash(one.record_bytes), fmt::format("{}", fmt::join(one.keys, ", "))});
    return all.text();
}

std::string levels_of(const archive::rocksdb_family& one) {
    std::string text;
    for (std::size_t level = 0; level < one.levels.size(); ++level)
        if (one.levels[level].files != 0)
            text +=
                fmt::format("{}L{}: {}", text.empty() ? "" : ", ", level, one.levels[level].files);
    return text.empty() ? "-" : text;
}

std::string families_text(const archive_contents& found) {
    if (!found.rocksdb) return {};
    text_table all({"column family", "files", "bytes", "entries", "uncompressed", "data", "filters",
                    "indexes", "buffered", "files by level"});
    for (const archive::rocksdb_family& one : found.rocksdb->families)
        all.add({one.name, grouped(one.all_levels().files), grouped(one.all_levels().bytes),
                 grouped(one.entries), grouped(one.content), grouped(one.data),
                 grouped(one.filters), grouped(one.indexes), grouped(one.buffered),
                 levels_of(one)});
    return "\n" + all.text();
}

std::string sizes_text(const archive_contents& found) {
    std::string text =
        fmt::format("\non disk    {} bytes in {} files, {} a row\n", grouped(found.disk_bytes),
                    grouped(found.files), per_row(found.disk_bytes, found.rows()));
    if (found.segment_bytes)
        text += fmt::format("in memory  {} bytes of the segment, and the texts of rows and keys in "
                            "its buffers\n",
                            grouped(*found.segment_bytes));
    return text;
}

std::string statistics_text(const archive_contents& found) {
    if (!found.statistics) return "\nstatistics of no process are there\n";
    const archive::published_statistics& told = *found.statistics;
    const std::string ended = told.closed != 0      ? "until " + time_text(told.closed)
                              : found.is_counting() ? "and running"
                                                    : "and died";
    return fmt::format("\nprocess {}, opened {}, {}:\n", told.process, time_text(told.opened),
                       ended) +
           to_text(told.figures);
}

} // namespace

std::string as_text(const archive_contents& found) {
    std::string text =
        fmt::format("state      {}\ncondition  {}\narchive    {}, {}\n", found.state.string(),
                    condition_text(found), found.folder.string(), kind_text(found));
    if (found.rocksdb) text += standing_text(*found.rocksdb);
    if (!found.refusal.empty()) text += "           not readable now: " + found.refusal + "\n";
    if (found.store == "none")
        text += "           keeps no rows: finished objects stay in memory\n";
    text += "\n" + tables_text(found) + families_text(found) + sizes_text(found) +
            statistics_text(found);
    for (const std::string& finding : found.findings)
        text += "\ndamaged: " + finding + "\n";
    return text;
}

} // namespace chainbase::inspect
