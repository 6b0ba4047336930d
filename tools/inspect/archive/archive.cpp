#include <archive/memory_store.hpp>
#include <archive/open_archive.hpp>
#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/archive_figures.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace chainbase::archive {

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(rocksdb_family::level, (), (files, bytes))

static json report_value(const rocksdb_family& one) {
    return {{"name", one.name},
            {"files", one.all_levels().files},
            {"file_bytes", one.all_levels().bytes},
            {"entries", one.entries},
            {"content_bytes", one.content},
            {"data_bytes", one.data},
            {"filter_bytes", one.filters},
            {"index_bytes", one.indexes},
            {"buffered_bytes", one.buffered},
            {"levels", json_of(one.levels)}};
}

static json report_value(const rocksdb_facts& facts) {
    return {{"format", facts.format},
            {"closed", facts.closed},
            {"being_written", facts.is_being_written},
            {"synced_write", facts.synced},
            {"last_write", facts.last_write},
            {"log", {{"files", facts.log_files}, {"bytes", facts.log_bytes}}},
            {"families", json_of(facts.families)}};
}

} // namespace chainbase::archive

namespace chainbase::inspect {

BOOST_DESCRIBE_STRUCT(archive_contents::table, (),
                      (name, keys, rows, in_both, ahead, record_bytes, in_memory, retired,
                       handed_over))

/// Tables are read once from end to end at most, so no cache pays off.
std::unique_ptr<archive::store> open_archive(const std::filesystem::path& state) {
    archive::store_options options;
    options.cache_bytes = std::size_t{1} << 20;
    options.read_only = true;
    return archive::open_store(state / "archive", options);
}

std::uint64_t archive_report::rows() const noexcept {
    std::uint64_t sum = 0;
    for (const table& each : tables)
        sum += each.rows;
    return sum;
}

std::optional<archive_report> read_archive(const std::filesystem::path& state) {
    std::error_code unreadable;
    if (!std::filesystem::exists(state / "archive", unreadable)) return std::nullopt;
    archive_report report;
    report.folder = state / "archive";
    try {
        const auto kind = archive::kind_of(report.folder).value_or(archive::store_kind::rocksdb);
        report.store = archive::to_string(kind);
        if (kind != archive::store_kind::rocksdb) return report;
        const auto store = open_archive(state);
        std::uint32_t number = 0;
        for (const archive::table_description& table : store->tables())
            report.tables.push_back(
                {table.name, table.key_names, store->count(archive::table_id{number++})});
    } catch (const error& problem) {
        report.tables.clear();
        report.refusal = problem.what();
    }
    return report;
}

namespace fs = std::filesystem;

namespace {

using archive::store_kind;
using table = archive_contents::table;

const type_report* type_called(const state_report& state, const std::string& name) {
    const auto found = std::ranges::find(state.types, name, &type_report::name);
    return found == state.types.end() ? nullptr : &*found;
}

/// Adds the state's figures to `to`, if the state has a type of this name.
void describe_objects(const state_report& state, table& to) {
    const type_report* const type = type_called(state, to.name);
    if (!type) return;
    to.in_memory = type->objects;
    const type_report* const queue = type_called(state, to.name + std::string(queue_suffix));
    if (!queue) return;
    to.retired = queue->objects;
    to.handed_over = objects_handed_over(state, to.name);
}

/// Adds the types with a life cycle that `tables` lack.
void add_tables_of_queues(const state_report& state, std::vector<table>& tables) {
    for (const type_report& type : state.types) {
        if (!type.name.ends_with(queue_suffix)) continue;
        const std::string name = type.name.substr(0, type.name.size() - queue_suffix.size());
        if (!type_called(state, name)) continue;
        if (std::ranges::find(tables, name, &table::name) != tables.end()) continue;
        table one;
        one.name = name;
        describe_objects(state, one);
        tables.push_back(std::move(one));
    }
}

void count_rows(const archive::store& rows, archive::table_id number, bool every_row,
                const state_report* state, table& to) {
    to.rows = rows.count(number);
    if (const type_report* const type = state ? type_called(*state, to.name) : nullptr)
        for (auto at = rows.rows(number, static_cast<std::uint32_t>(type->next_id)); at.valid();
             at.next())
            ++to.ahead;
    if (!every_row) return;
    to.record_bytes = 0;
    for (auto at = rows.rows(number); at.valid(); at.next())
        *to.record_bytes += at.record().size();
}

void describe_tables(const archive::store& rows, bool every_row, const state_report* state,
                     archive_contents& to) {
    std::uint32_t number = 0;
    for (const archive::table_description& one : rows.tables()) {
        table told;
        told.name = one.name;
        told.keys = one.key_names;
        count_rows(rows, archive::table_id{number++}, every_row, state, told);
        if (state) describe_objects(*state, told);
        to.tables.push_back(std::move(told));
    }
}

void look_on_disk(bool every_row, const state_report* state, archive_contents& to) {
    const auto rows = open_archive(to.state);
    describe_tables(*rows, every_row, state, to);
    to.rocksdb = dynamic_cast<const archive::rocksdb_store&>(*rows).facts();
}

/// Under the read lock, as a writer changes its objects.
void look_in_memory(bool every_row, const state_report& state, archive_contents& to) {
    to.segment_bytes = 0;
    for (const char* type : {"archive.table", "archive.row", "archive.key"})
        if (const type_report* const found = type_called(state, type))
            *to.segment_bytes += found->total().bytes.total;
        else
            return; // nothing archived yet
    if (state.condition == condition::writer_died)
        throw unclean_error(to.state.string() +
                            ": the last writer died, and the next opening for writing rolls back "
                            "the rows in memory; open the state for writing once, then call again");
    open_options how;
    how.mode = open_mode::read_only;
    database reader(to.state, how);
    reader.with_read_lock([&] {
        archive::memory_store rows(reader);
        describe_tables(rows, every_row, &state, to);
    });
}

void measure_files(archive_contents& to) {
    std::error_code gone; // beside a writer
    for (auto at = fs::recursive_directory_iterator(to.folder, gone);
         !gone && at != fs::recursive_directory_iterator(); at.increment(gone)) {
        struct stat found{};
        if (::lstat(at->path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
        ++to.files;
        to.file_bytes += static_cast<std::uint64_t>(found.st_size);
        to.disk_bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    }
}

/// Whether rows that the state relies on must exist. Rows in memory may be popped between the two
/// reads, and a state in the middle of an operation has no exact count.
bool is_to_be_judged(const archive_contents& found) {
    if (!found.is_state_consistent || found.store == archive::to_string(store_kind::none))
        return false;
    return found.store != archive::to_string(store_kind::memory) ||
           found.condition != condition::writer_running;
}

void judge(archive_contents& to) {
    if (!is_to_be_judged(to)) return;
    for (const table& one : to.tables) {
        const std::uint64_t rows = one.rows.value_or(0);
        const std::uint64_t counting = rows - std::min(one.ahead, rows);
        const std::uint64_t gone = one.handed_over.value_or(0);
        if (gone <= counting) continue;
        to.findings.push_back("table " + one.name + ": " + std::to_string(gone) +
                              " objects were handed over, but there are " +
                              std::to_string(counting) +
                              " rows; put the archive of this state back in place, or replay "
                              "into a new folder");
    }
}

std::optional<state_report> read_state_if_possible(archive_contents& to) {
    try {
        state_report state = read_state(to.state);
        to.condition = state.condition;
        to.writer = state.writer;
        to.is_state_consistent = state.consistent;
        return state;
    } catch (const error& problem) {
        if (!fs::exists(to.folder)) throw;
        to.state_refusal = problem.what();
        return std::nullopt;
    }
}

void look_inside(bool every_row, const state_report* state, archive_contents& to) {
    try {
        const auto kind = archive::kind_of(to.folder).value_or(store_kind::rocksdb);
        to.store = archive::to_string(kind);
        to.statistics = archive::statistics_page::look(to.folder);
        if (kind == store_kind::rocksdb) look_on_disk(every_row, state, to);
        if (kind == store_kind::memory && state) look_in_memory(every_row, *state, to);
    } catch (const damaged_error& problem) {
        to.findings.emplace_back(problem.what());
        to.refusal = problem.what();
    } catch (const error& problem) {
        to.refusal = problem.what();
    }
}

} // namespace

std::uint64_t archive_contents::table::in_both() const noexcept {
    const std::uint64_t known = ahead + handed_over.value_or(0);
    return handed_over && rows && *rows > known ? *rows - known : 0;
}

std::uint64_t archive_contents::rows() const noexcept {
    std::uint64_t sum = 0;
    for (const table& one : tables)
        sum += one.rows.value_or(0);
    return sum;
}

bool archive_contents::is_counting() const noexcept {
    return statistics && statistics->closed == 0 && condition == condition::writer_running &&
           writer == std::to_string(statistics->process);
}

archive_contents read_archive_contents(const fs::path& state, bool every_row) {
    archive_contents found;
    found.state = state;
    found.folder = state / "archive";
    const std::optional<state_report> read = read_state_if_possible(found);
    found.is_there = fs::exists(found.folder);
    if (found.is_there) look_inside(every_row, read ? &*read : nullptr, found);
    const bool is_readable = found.refusal.empty();
    if (read) add_tables_of_queues(*read, found.tables);
    if (is_readable) judge(found);
    if (!found.is_there && found.findings.empty())
        throw format_error(found.folder.string() +
                           ": there is no archive, and the state has handed nothing over");
    if (found.is_there) measure_files(found);
    return found;
}

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
    const bool is_torn = found.condition == condition::writer_running && !found.is_state_consistent;
    return condition_in_words(found.condition, found.writer) +
           (is_torn ? "; read in the middle of an operation" : "");
}

std::string kind_text(const archive_contents& found) {
    if (found.is_there) return "store " + (found.store.empty() ? "unknown" : found.store);
    return "which does not exist";
}

std::string standing_text(const archive::rocksdb_facts& facts) {
    const std::string closed =
        facts.is_being_written ? "being written"
        : facts.closed         ? "closed properly"
                               : "its last writer did not close it; the next opening reads its log";
    return fmt::format("           {}; synced up to write {} of {}; {} log file(s), {}\n", closed,
                       grouped(facts.synced), grouped(facts.last_write), grouped(facts.log_files),
                       bytes_in_words(facts.log_bytes));
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
        all.add({one.name, grouped(one.all_levels().files), bytes_in_words(one.all_levels().bytes),
                 grouped(one.entries), bytes_in_words(one.content), bytes_in_words(one.data),
                 bytes_in_words(one.filters), bytes_in_words(one.indexes),
                 bytes_in_words(one.buffered), levels_of(one)});
    return "\n" + all.text();
}

std::string sizes_text(const archive_contents& found) {
    std::string text = fmt::format("\non disk    {} in {} files, {} bytes a row\n",
                                   bytes_in_words(found.disk_bytes), grouped(found.files),
                                   per_row(found.disk_bytes, found.rows()));
    if (found.segment_bytes)
        text += fmt::format("in memory  {} of the segment, and the texts of rows and keys in "
                            "its buffers\n",
                            bytes_in_words(*found.segment_bytes));
    return text;
}

std::string statistics_text(const archive_contents& found) {
    if (!found.statistics) return "\nno process has left statistics\n";
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

namespace {

json statistics_of(const archive_contents& found) {
    if (!found.statistics) return nullptr;
    json all = {
        {"process", found.statistics->process},
        {"opened", found.statistics->opened},
        {"closed", found.statistics->closed == 0 ? json(nullptr) : json(found.statistics->closed)},
        {"running", found.is_counting()}};
    all.update(chainbase::to_json(found.statistics->figures));
    return all;
}

} // namespace

std::string as_json(const archive_contents& found) {
    const bool is_state_readable = found.state_refusal.empty();
    return lines_of({
        {"schema_version", 1},
        {"state", found.state.string()},
        {"folder", found.folder.string()},
        {"store", text_or_null(found.store)},
        {"condition", is_state_readable ? json(to_string(found.condition)) : json(nullptr)},
        {"writer", found.writer},
        {"readable", found.refusal.empty()},
        {"refusal", text_or_null(found.refusal)},
        {"state_refusal", text_or_null(found.state_refusal)},
        {"findings", found.findings},
        {"rows", found.rows()},
        {"tables", json_of(found.tables)},
        {"bytes",
         {{"files", found.files},
          {"file_bytes", found.file_bytes},
          {"disk_bytes", found.disk_bytes},
          {"segment_bytes", json_of(found.segment_bytes)}}},
        {"rocksdb", json_of(found.rocksdb)},
        {"statistics", statistics_of(found)},
    });
}

namespace {

struct archive_call : state_call {
    bool records = false;
};

exit_code run_archive(const archive_call& asked) {
    const archive_contents found = read_archive_contents(asked.state, asked.records);
    print_or_throw(asked.json ? as_json(found) : as_text(found));
    for (const std::string& finding : found.findings)
        spdlog::error("{}: {}", found.folder.string(), finding);
    if (!found.findings.empty()) return exit_code::damaged;
    if (!found.refusal.empty()) spdlog::error(found.refusal);
    if (!found.state_refusal.empty()) spdlog::error(found.state_refusal);
    return found.refusal.empty() && found.state_refusal.empty() ? exit_code::done
                                                                : exit_code::failed;
}

} // namespace

void declare_archive(command& verb) {
    const auto asked = declare_look<archive_call>(verb, run_archive);
    verb.add_flag("--records", asked->records,
                  "Read every row, for the exact bytes of the records");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of tables");
}

} // namespace chainbase::inspect
