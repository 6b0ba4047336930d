#include <archive/memory_store.hpp>
#include <archive/open_archive.hpp>
#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/archive/archive_report.hpp>
#include <tools/inspect/archive/handed_over.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

using archive::store_kind;
using table = archive_contents::table;

const type_report* type_called(const state_report& state, const std::string& name) {
    const auto found = std::ranges::find(state.types, name, &type_report::name);
    return found == state.types.end() ? nullptr : &*found;
}

/// Says of `to` what the state does, if that has a type of this name.
void describe_objects(const state_report& state, table& to) {
    const type_report* const type = type_called(state, to.name);
    if (!type) return;
    to.in_memory = type->objects;
    const type_report* const queue = type_called(state, to.name + std::string(queue_suffix));
    if (!queue) return;
    to.retired = queue->objects;
    to.handed_over = objects_handed_over(state, to.name);
}

/// Of types with a life cycle that `tables` lack.
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

/// Under the read lock, as its objects change under a writer.
void look_in_memory(bool every_row, const state_report& state, archive_contents& to) {
    to.segment_bytes = 0;
    for (const char* type : {"archive.table", "archive.row", "archive.key"})
        if (const type_report* const found = type_called(state, type))
            *to.segment_bytes += found->total().bytes.total;
        else
            return; // nothing was archived yet
    if (state.condition == condition::writer_died)
        throw unclean_error(to.state.string() +
                            ": the last writer died, and rows in memory are rolled back by the "
                            "next opening for writing; open it so, then look again");
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

/// Whether rows that the state counts on have to be there. Those in memory may be popped between
/// the two looks, and a state in the middle of an operation counts nothing rightly.
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
                              " objects were handed over, and there are " +
                              std::to_string(counting) +
                              " rows; put the archive in place that belongs to this state, or "
                              "replay into a new folder");
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
                           ": there is no archive, and the state handed nothing over to one");
    if (found.is_there) measure_files(found);
    return found;
}

} // namespace chainbase::inspect
