#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

namespace chainbase::inspect {

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(type_report, (),
                      (name, objects, next_id, value_bytes, link_bytes, node_bytes, keys, nodes,
                       ids, tables, total))
BOOST_DESCRIBE_STRUCT(buffer_report, (), (name, slot_bytes, memory))
BOOST_DESCRIBE_STRUCT(archive_report::table, (), (name, rows, keys))
BOOST_DESCRIBE_STRUCT(state_growth::part, (), (name, objects, used_bytes, file_bytes))

static json report_value(const measured& part) {
    const usage& bytes = part.bytes;
    return {{"header", bytes.header},
            {"links", bytes.links},
            {"values", bytes.values},
            {"slack", bytes.slack},
            {"punched", bytes.punched},
            {"total", bytes.total},
            {"files", part.file_bytes},
            {"resident", json_of(part.cached.resident)},
            {"dirty", json_of(part.cached.dirty)},
            {"writeback", json_of(part.cached.writeback)},
            {"missing", json_of(part.cached.missing)},
            {"slots",
             {{"live", bytes.slots_live},
              {"free", bytes.slots_free},
              {"never_used", bytes.slots_never_used}}}};
}

static json report_value(const archive_report& archive) {
    json all = {{"folder", archive.folder.string()}, {"readable", archive.refusal.empty()}};
    if (!archive.refusal.empty()) {
        all["refusal"] = archive.refusal;
        return all;
    }
    all["store"] = archive.store;
    all["rows"] = archive.rows();
    all["tables"] = json_of(archive.tables);
    return all;
}

namespace {

json object_of(const state_report& state, const std::optional<archive_report>& archive) {
    return {
        {"schema_version", 1},
        {"state", state.state.string()},
        {"segment", state.segment.string()},
        {"condition", to_string(state.condition)},
        {"writer", state.writer},
        {"consistent", state.consistent},
        {"discrepancies", state.discrepancies},
        {"header",
         {{"format", state.format},
          {"windows", state.windows},
          {"window_bytes", state.window_bytes},
          {"boot", state.boot},
          {"memory", json_of(state.header)}}},
        {"log",
         {{"bytes_in_use", state.log.bytes.values},
          {"sessions", state.sessions},
          {"revision", state.revision},
          {"irreversible_revision", state.irreversible_revision},
          {"changes", state.changes},
          {"memory", json_of(state.log)}}},
        {"buffers", json_of(state.buffers)},
        {"types", json_of(state.types)},
        {"sums",
         {{"header", state.header.bytes.total},
          {"log", state.log.bytes.total},
          {"buffers", state.buffers_total().bytes.total},
          {"types", state.types_total().bytes.total},
          {"total", state.total().bytes.total},
          {"files", state.total().file_bytes},
          {"other_files", state.other_files}}},
        {"total", json_of(state.total())},
        {"archive", json_of(archive)},
    };
}

/// On one line, with the growth.
std::string as_json_line(const state_report& state, const std::optional<archive_report>& archive,
                         const state_growth& growth) {
    json all = object_of(state, archive);
    all["growth_per_minute"] = {{"seconds", growth.seconds},
                                {"objects", growth.whole.objects},
                                {"used_bytes", growth.whole.used_bytes},
                                {"file_bytes", growth.whole.file_bytes},
                                {"types", json_of(growth.types)}};
    return line_of(all) + "\n";
}

std::string condition_text(const state_report& state) {
    std::string text = condition_in_words(state.condition, state.writer);
    if (state.condition == condition::writer_died)
        text += "; opening for writing returns to the last completed block";
    if (state.condition == condition::writer_running && !state.consistent)
        text += "; read in the middle of an operation";
    return text;
}

std::string heading(const state_report& state) {
    return fmt::format(
        "state      {}\n"
        "condition  {}\n"
        "revision   {}, irreversible {}; {} session(s) can be undone\n"
        "changes    {} since the state was created (operations, sessions begun and ended)\n"
        "segment    {}: format {}, {} windows of at most {}\n",
        state.state.string(), condition_text(state), state.revision, state.irreversible_revision,
        state.sessions, grouped(state.changes), state.segment.string(), state.format, state.windows,
        bytes_in_words(state.window_bytes));
}

/// The byte columns of every table, after its own first ones.
std::vector<std::string> with_bytes(std::vector<std::string> cells, const measured& part) {
    const usage& bytes = part.bytes;
    for (const std::uint64_t figure : {bytes.header, bytes.links, bytes.values, bytes.slack,
                                       bytes.punched, bytes.total, part.file_bytes})
        cells.push_back(bytes_in_words(figure));
    return cells;
}

std::vector<std::string> with_byte_titles(std::vector<std::string> titles) {
    for (const char* title : {"header", "links", "values", "slack", "punched", "total", "files"})
        titles.emplace_back(title);
    return titles;
}

std::string per_object(const type_report& type) {
    const usage bytes = type.total().bytes;
    if (type.objects == 0) return "-";
    return fmt::format("{:.1f}", static_cast<double>(bytes.total - bytes.punched) /
                                     static_cast<double>(type.objects));
}

std::string types_text(const state_report& state) {
    text_table table(with_byte_titles({"type", "objects", "next id", "bytes/object"}));
    std::uint64_t objects = 0;
    for (const type_report& type : state.types) {
        table.add(
            with_bytes({type.name, grouped(type.objects), grouped(type.next_id), per_object(type)},
                       type.total()));
        objects += type.objects;
    }
    table.rule();
    table.add(with_bytes({"types", grouped(objects), "", ""}, state.types_total()));
    return table.text();
}

bool in_use(const buffer_report& buffers) {
    return buffers.memory.bytes.slots_live + buffers.memory.bytes.slots_free > 0;
}

std::string slots_text(const state_report& state) {
    text_table table({"slots", "bytes each", "live", "free", "never used"});
    const auto add = [&](const std::string& name, std::uint64_t size, const usage& slots) {
        table.add({name, grouped(size), grouped(slots.slots_live), grouped(slots.slots_free),
                   grouped(slots.slots_never_used)});
    };
    for (const type_report& type : state.types)
        add(type.name + ".objects", type.node_bytes, type.nodes.bytes);
    for (const buffer_report& buffers : state.buffers)
        if (in_use(buffers)) add(buffers.name, buffers.slot_bytes, buffers.memory.bytes);
    return table.text();
}

std::string sums_text(const state_report& state) {
    text_table table(with_byte_titles({"memory"}));
    table.add(with_bytes({"header"}, state.header));
    table.add(with_bytes({"undo_log"}, state.log));
    std::size_t unused = 0;
    measured rest;
    for (const buffer_report& buffers : state.buffers) {
        if (in_use(buffers)) {
            table.add(with_bytes({buffers.name}, buffers.memory));
            continue;
        }
        rest += buffers.memory;
        ++unused;
    }
    if (unused > 0) table.add(with_bytes({fmt::format("buffers ({} unused)", unused)}, rest));
    table.add(with_bytes({fmt::format("types ({})", state.types.size())}, state.types_total()));
    table.rule();
    table.add(with_bytes({"total"}, state.total()));
    return table.text();
}

std::string or_unknown(const std::optional<std::uint64_t>& bytes) {
    return bytes ? bytes_in_words(*bytes) : "unknown";
}

std::vector<std::string> cached_cells(const std::string& name, const measured& part) {
    return {name,
            bytes_in_words(part.held()),
            or_unknown(part.cached.resident),
            or_unknown(part.cached.dirty),
            or_unknown(part.cached.writeback),
            or_unknown(part.cached.missing)};
}

std::string cached_text(const state_report& state) {
    text_table table({"memory and disk", "held", "in memory", "dirty", "being written", "missing",
                      "objects", "ids", "keys"});
    const auto add = [&table](std::vector<std::string> cells) {
        cells.resize(9);
        table.add(std::move(cells));
    };
    add(cached_cells("header", state.header));
    add(cached_cells("undo_log", state.log));
    add(cached_cells("buffers", state.buffers_total()));
    for (const type_report& type : state.types) {
        std::vector<std::string> cells = cached_cells(type.name, type.total());
        for (const measured* part : {&type.nodes, &type.ids, &type.tables})
            cells.push_back(or_unknown(part->cached.missing));
        add(std::move(cells));
    }
    table.rule();
    add(cached_cells("total", state.total()));
    return table.text();
}

std::string verdict(const state_report& state) {
    const measured total = state.total();
    std::string text = fmt::format(
        "header {} + log {} + buffers {} + types {} = {} bytes; the files: {} bytes"
        " (and {} of others)\n",
        grouped(state.header.bytes.total), grouped(state.log.bytes.total),
        grouped(state.buffers_total().bytes.total), grouped(state.types_total().bytes.total),
        grouped(total.bytes.total), grouped(total.file_bytes), grouped(state.other_files));
    if (state.discrepancies.empty()) return text + "every sum holds\n";
    for (const std::string& each : state.discrepancies)
        text += "not exact: " + each + "\n";
    return text;
}

std::string archive_text(const std::optional<archive_report>& archive) {
    if (!archive) return "archive    none\n";
    std::string text = fmt::format("archive    {}\n", archive->folder.string());
    if (!archive->refusal.empty())
        return text + fmt::format("           not readable now: {}\n", archive->refusal);
    if (archive->store == "memory") return text + "           rows are objects of the segment\n";
    if (archive->store == "none") return text + "           keeps no rows\n";
    text_table table({"table", "rows"});
    for (const archive_report::table& each : archive->tables)
        table.add({each.name, grouped(each.rows)});
    return text + table.text();
}

/// Signed: a state may shrink.
std::string gained(double figure) {
    const double size = std::round(std::abs(figure));
    if (size < 1) return "0";
    return (figure < 0 ? "-" : "+") + grouped(static_cast<std::uint64_t>(size));
}

/// The verb's arguments.
struct stat_call : state_call {
    bool watches = false;
    std::uint64_t seconds = 1; ///< between two reports
    std::uint64_t samples = 0; ///< number of reports of --watch; 0: until a signal
};

using clock = std::chrono::steady_clock;

/// Redraws in place without flicker: cursor home, each line cleared to its end, then the rest of
/// the screen.
std::string redrawn(const std::string& text) {
    std::string screen = "\x1b[H";
    for (const char letter : text)
        screen += letter == '\n' ? "\x1b[K\n" : std::string(1, letter);
    return screen + "\x1b[J";
}

/// A signal whose handler returns does not end every sleep, so it is polled.
void sleep_until_signal_or(clock::time_point end) {
    constexpr auto step = std::chrono::milliseconds(50);
    while (!catch_interruption::caught() && clock::now() < end)
        std::this_thread::sleep_for(std::min<clock::duration>(step, end - clock::now()));
}

/// Beside a writer a sample may fail; for a state at rest the sums must hold.
bool is_damaged(const state_report& report) {
    return report.condition == condition::closed && !report.consistent;
}

/// Beside a writer an archive may be unreadable for a moment; beside a closed state that is a
/// fault.
bool has_lost_archive(const state_report& state, const std::optional<archive_report>& archive) {
    return state.condition == condition::closed && archive && !archive->refusal.empty();
}

/// `failed`, with a message, when the state is closed and its sums do not hold or its archive is
/// unreadable.
exit_code verdict_of(const state_report& state, const std::optional<archive_report>& archive) {
    exit_code result = exit_code::done;
    if (is_damaged(state)) {
        spdlog::error("{}: the state is closed, but its counts differ from what its files hold",
                      state.state.string());
        result = exit_code::failed;
    }
    if (has_lost_archive(state, archive)) {
        spdlog::error("{}: the state is closed, but its archive cannot be read: {}",
                      state.state.string(), archive->refusal);
        result = exit_code::failed;
    }
    return result;
}

/// Prints the report with the growth per minute repeatedly: redrawn in place on a terminal,
/// otherwise one JSON object a line. Stops at a signal or after the last sample.
exit_code watch_state(const stat_call& asked) {
    const catch_interruption signals;
    const bool is_drawn = !asked.json && ::isatty(STDOUT_FILENO) == 1;
    growth_meter meter;
    cached_files cached;
    for (std::uint64_t samples = 1;; ++samples) {
        const auto begin = clock::now();
        const state_report state = read_state(asked.state, std::chrono::seconds(1), cached);
        const state_growth growth = meter.add(state, clock::now());
        const auto archive = read_archive(asked.state);
        print_or_throw(is_drawn ? redrawn(as_text(state, archive) + "\n" + as_text(growth))
                                : as_json_line(state, archive, growth));
        const bool is_last = samples == asked.samples;
        if (!is_last) sleep_until_signal_or(begin + std::chrono::seconds(asked.seconds));
        if (is_last || catch_interruption::caught()) return verdict_of(state, archive);
    }
}

exit_code run_stat(const stat_call& asked) {
    if (asked.watches) return watch_state(asked);
    const named_state named(asked.state);
    state_report state = read_state(named.folder());
    state.state = asked.state;
    if (named.is_checkpoint()) state.segment = named.origin() / "checkpoint";
    const std::optional<archive_report> archive = read_archive(named.origin());
    print_or_throw(asked.json ? as_json(state, archive) : as_text(state, archive));
    return verdict_of(state, archive);
}

} // namespace

std::string as_json(const state_report& state, const std::optional<archive_report>& archive) {
    return lines_of(object_of(state, archive));
}

std::string as_text(const state_growth& growth) {
    text_table table({"per minute", "objects", "bytes in use", "files"});
    const auto add = [&table](const state_growth::part& part) {
        table.add(
            {part.name, gained(part.objects), gained(part.used_bytes), gained(part.file_bytes)});
    };
    for (const state_growth::part& type : growth.types)
        add(type);
    table.rule();
    add(growth.whole);
    return table.text() + fmt::format("measured over {:.0f} s\n", growth.seconds);
}

std::string as_text(const state_report& state, const std::optional<archive_report>& archive) {
    return heading(state) + "\n" + types_text(state) + "\n" + slots_text(state) + "\n" +
           sums_text(state) + "\n" + cached_text(state) + "\n" + verdict(state) + "\n" +
           archive_text(archive);
}

void declare_stat(command& verb) {
    const auto asked = declare_look<stat_call>(verb, run_stat);
    verb.add_flag("--json", asked->json, "Print one JSON object instead of tables");
    command_option& watch =
        verb.add_option_function<std::uint64_t>(
                "--watch",
                [asked](std::uint64_t seconds) {
                    asked->watches = true;
                    asked->seconds = seconds;
                },
                "Repeat every second, or every SECONDS, with the growth per minute; without a "
                "terminal, one JSON object a line")
            .optional_value("1")
            .value_name("[SECONDS]")
            .whole_number(1, 86'400);
    verb.add_option("--count", asked->samples, "End after this many reports")
        .needs(watch)
        .whole_number(1, UINT64_MAX);
}

} // namespace chainbase::inspect
