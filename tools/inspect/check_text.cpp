#include <tools/inspect/check.hpp>
#include <tools/inspect/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace chainbase::inspect {

namespace {

std::string name_of(const check::part_report& part) {
    return part.type.empty() || part.type == part.name ? part.name : part.type + " " + part.name;
}

/// Calls visit(part) for the parts of a report, and for what is within them.
template <typename Visitor>
void each_part(const check::part_report& report, Visitor&& visit) {
    visit(report);
    for (const check::part_report& part : report.parts)
        each_part(part, visit);
}

std::string findings_text(const check::part_report& report) {
    std::string text;
    each_part(report, [&](const check::part_report& part) {
        for (const check::finding& one : part.findings)
            text +=
                fmt::format("{}: {}{}: {}\n", name_of(part), one.file,
                            one.offset ? fmt::format(", offset {}", *one.offset) : "", one.what);
        if (part.found > part.findings.size())
            text += fmt::format("{}: and {} more\n", name_of(part),
                                grouped(part.found - part.findings.size()));
    });
    return text;
}

std::string not_checked_text(const check::part_report& report) {
    std::string text;
    each_part(report, [&](const check::part_report& part) {
        for (const std::string& what : part.not_checked)
            text += fmt::format("not checked: {}: {}\n", name_of(part), what);
    });
    return text;
}

void add_row(text_table& table, const check::part_report& part, std::uint64_t found) {
    std::string figures;
    for (const auto& figure : part.figures)
        figures += fmt::format("{}{} {}", figures.empty() ? "" : ", ", figure.what,
                               grouped(figure.number));
    table.add({name_of(part), figures, grouped(found), fmt::format("{:.1f}", part.seconds * 1e3)});
}

/// The parts, each with what is within it, down to `detail`.
std::string parts_text(const std::vector<check::part_report>& parts, int detail) {
    if (detail == 0) return {};
    text_table table({"checked", "what is there", "findings", "ms"});
    for (const check::part_report& part : parts) {
        add_row(table, part, detail > 1 ? part.found : part.found_in_all());
        if (detail > 1)
            for (const check::part_report& inner : part.parts)
                add_row(table, inner, inner.found);
    }
    return table.text() + "\n";
}

std::string condition_text(const check::state_check& state) {
    switch (state.condition()) {
    case check::condition::closed:
        return "closed properly";
    case check::condition::writer_died:
        return fmt::format("the last writer died; the next opening rolls back {} session(s){}, and "
                           "what that gives is checked",
                           state.log().undone,
                           state.log().operation ? " and the operation under way" : "");
    case check::condition::machine_restarted:
        return "the machine restarted before it was on storage: its pages may be of different "
               "times, and the next opening restores the last checkpoint";
    }
    return "unknown";
}

std::string survivors_text(const check::state_check& state) {
    std::string text = "what survives, found by its id and by every key, all it refers to there:\n";
    for (const check::survivors& each : state.survived())
        text += fmt::format("  {}: {} of {} objects\n", each.type, grouped(each.whole),
                            grouped(each.objects));
    return text + "`check --checkpoint` says whether there is a checkpoint to go back to; else "
                  "restore the folder from a copy, or replay into a new one\n";
}

std::string verdict(std::uint64_t found) {
    return found == 0 ? "sound: nothing was found\n"
                      : fmt::format("damaged: {} finding(s)\n", grouped(found));
}

} // namespace

std::string as_text(const check::state_check& state, int detail) {
    const std::uint64_t found = state.report().found_in_all();
    std::string text = fmt::format(
        "state      {}\ncondition  {}\nrevision   {}, irreversible {}; {} session(s) can be "
        "undone\n\n",
        state.state().string(), condition_text(state), state.log().revision,
        state.log().irreversible_revision, state.log().sessions);
    text += parts_text(state.report().parts, detail);
    text += findings_text(state.report());
    text += not_checked_text(state.report());
    if (found != 0) text += survivors_text(state);
    return text + verdict(found);
}

std::string as_text(const std::string& state, const check::checked_checkpoints& checkpoints,
                    int detail) {
    std::string text = fmt::format("state      {}\n", state);
    for (const check::checked_publication& one : checkpoints.publications)
        text += fmt::format(
            "checkpoint {}: {}, revision {}, irreversible {}, made {:%F %T} UTC, {} "
            "pages\n",
            one.generation, to_string(one.standing), one.revision, one.irreversible_revision,
            fmt::gmtime(std::time_t{one.time}), grouped(one.pages));
    text += "\n" + parts_text({checkpoints.report}, detail) + findings_text(checkpoints.report) +
            not_checked_text(checkpoints.report);
    const check::checked_publication* best = checkpoints.restorable();
    const bool is_newest = best == checkpoints.publications.data();
    text += best ? fmt::format("a restore would take checkpoint {} of revision {}{}\n",
                               best->generation, best->revision,
                               is_newest && checkpoints.blocks != 0
                                   ? fmt::format(", and {} blocks after it", checkpoints.blocks)
                                   : "")
                 : std::string("no checkpoint could be restored\n");
    return text + verdict(checkpoints.report.found_in_all());
}

} // namespace chainbase::inspect
