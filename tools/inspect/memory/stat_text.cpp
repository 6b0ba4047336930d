#include <tools/inspect/memory/stat.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace chainbase::inspect {

namespace {

std::string condition_text(const state_report& state) {
    switch (state.condition) {
    case condition::closed:
        return "closed properly";
    case condition::writer_running:
        return fmt::format("a writer is running (process {}){}", state.writer,
                           state.consistent ? "" : "; read in the middle of an operation");
    case condition::writer_died:
        return fmt::format("the last writer (process {}) died; opening for writing returns to the "
                           "last completed block",
                           state.writer);
    }
    return "unknown";
}

std::string heading(const state_report& state) {
    return fmt::format(
        "state      {}\n"
        "condition  {}\n"
        "revision   {}, irreversible {}; {} session(s) can be undone\n"
        "changes    {} since the state was created (operations, sessions begun and ended)\n"
        "segment    {}: format {}, {} windows of at most {} bytes\n",
        state.state.string(), condition_text(state), state.revision, state.irreversible_revision,
        state.sessions, grouped(state.changes), state.segment.string(), state.format, state.windows,
        grouped(state.window_bytes));
}

/// The columns of every table of bytes, after its own first ones.
std::vector<std::string> with_bytes(std::vector<std::string> cells, const measured& part) {
    const usage& bytes = part.bytes;
    for (const std::uint64_t figure : {bytes.header, bytes.links, bytes.values, bytes.slack,
                                       bytes.punched, bytes.total, part.file_bytes})
        cells.push_back(grouped(figure));
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

/// With its sign: a state may shrink.
std::string gained(double figure) {
    const double size = std::round(std::abs(figure));
    if (size < 1) return "0";
    return (figure < 0 ? "-" : "+") + grouped(static_cast<std::uint64_t>(size));
}

} // namespace

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
           sums_text(state) + "\n" + verdict(state) + "\n" + archive_text(archive);
}

} // namespace chainbase::inspect
