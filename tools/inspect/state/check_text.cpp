#include <tools/inspect/state/check.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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
    case check::condition::unknown:
        break;
    case check::condition::closed:
        return "closed properly";
    case check::condition::writer_died:
        return fmt::format("the last writer died; the next opening rolls back {} session(s){}, and "
                           "what that gives is checked",
                           state.log().undone,
                           state.log().operation ? " and the operation under way" : "");
    case check::condition::machine_restarted:
    case check::condition::segment_lost:
        return state.why_lost() + "; the segment is of no use, and its pages are not judged";
    }
    return "unknown";
}

/// Unix seconds; a damaged file may say any number.
std::string time_text(std::int64_t seconds) {
    constexpr std::int64_t end = 253'402'300'800; // the year 10000
    if (seconds < 0 || seconds >= end) return fmt::format("second {}", seconds);
    return fmt::format("{:%F %T} UTC", fmt::gmtime(std::time_t{seconds}));
}

std::string publications_text(const check::checked_checkpoints& checkpoints) {
    std::string text;
    for (const check::checked_publication& one : checkpoints.publications)
        text += fmt::format("checkpoint {}: {}, revision {}, irreversible {}, made {}, {} pages\n",
                            one.generation, to_string(one.standing), one.revision,
                            one.irreversible_revision, time_text(one.time), grouped(one.pages));
    return text;
}

/// `what` takes it: "a restore would take", "the next opening takes".
std::string restorable_text(const check::checked_checkpoints& checkpoints, const char* what) {
    const check::checked_publication* best = checkpoints.restorable();
    if (!best) return "no checkpoint could be restored\n";
    const bool is_newest = best == checkpoints.publications.data();
    return fmt::format("{} checkpoint {} of revision {}{}\n", what, best->generation,
                       best->revision,
                       is_newest && checkpoints.blocks != 0
                           ? fmt::format(", and {} blocks after it", grouped(checkpoints.blocks))
                           : "");
}

std::string standing_text(const check::state_check& state) {
    if (state.log().is_known)
        return fmt::format("revision   {}, irreversible {}; {} session(s) can be undone\n\n",
                           state.log().revision, state.log().irreversible_revision,
                           state.log().sessions);
    if (!state.checkpoints()) return "revision   unknown\n\n";
    return publications_text(*state.checkpoints()) + "\n";
}

std::string survivors_text(const check::state_check& state) {
    std::string text;
    for (const check::survivors& each : state.survived())
        text += each.is_known ? fmt::format("  {}: {} of {} objects\n", each.type,
                                            grouped(each.whole), grouped(each.objects))
                              : fmt::format("  {}: unknown\n", each.type);
    if (!text.empty())
        text = "what survives, found by its id and by every key, all it refers to there:\n" + text;
    if (is_lost(state.condition())) return text;
    const bool has_what_closing_left =
        std::any_of(state.report().parts.begin(), state.report().parts.end(),
                    [](const auto& part) { return part.name == "pages" && part.found != 0; });
    if (has_what_closing_left)
        text += "the checkpoint that closing made has all of it: if `check --checkpoint` finds it "
                "whole, move the segment's folder away and open the state\n";
    return text + "`check --checkpoint` says whether there is a checkpoint to go back to; else "
                  "restore the folder from a copy, or replay into a new one\n";
}

/// What to do about checkpoints that are damaged.
std::string advice_on(const std::string& state, const check::checked_checkpoints& checkpoints) {
    if (checkpoints.report.found_in_all() == 0) return {};
    std::string text;
    if (const check::checked_publication* best = checkpoints.restorable())
        text = fmt::format("should the segment be lost, opening goes on from checkpoint {}; blocks "
                           "after revision {} are then to be replayed\n",
                           best->generation, best->revision);
    else
        text =
            "should the segment be lost, nothing is left to go on from but a copy, or a replay\n";
    return text + fmt::format("if `check` finds the segment sound, close the state, move "
                              "{}/checkpoint away, and open it again: the next checkpoint is "
                              "written anew\n",
                              state);
}

std::string verdict_text(const check::part_report& report) {
    const std::uint64_t found = report.found_in_all();
    if (found != 0) return fmt::format("damaged: {} finding(s)\n", grouped(found));
    const std::uint64_t skipped = report.not_checked_in_all();
    const std::string open =
        skipped == 0 ? "" : fmt::format("; {} thing(s) were not checked", grouped(skipped));
    const std::vector<std::string> refused = report.refused_in_all();
    if (refused.empty()) return "sound: nothing was found" + open + "\n";
    std::string text;
    for (const std::string& one : refused)
        text += "refused: " + one + "\n";
    return text + fmt::format("not known to be sound: {} file(s) may not be used as they are, and "
                              "opening refuses them; else nothing was found{}\n",
                              refused.size(), open);
}

} // namespace

std::string as_text(const check::state_check& state, int detail) {
    std::string text = fmt::format("state      {}\ncondition  {}\n{}", state.state().string(),
                                   condition_text(state), standing_text(state));
    text += parts_text(state.report().parts, detail);
    text += findings_text(state.report());
    text += not_checked_text(state.report());
    if (state.report().found_in_all() != 0) text += survivors_text(state);
    if (state.checkpoints())
        text += restorable_text(*state.checkpoints(), "the next opening takes");
    return text + verdict_text(state.report());
}

std::string as_text(const std::string& state, const check::checked_checkpoints& checkpoints,
                    int detail) {
    return fmt::format("state      {}\n{}\n", state, publications_text(checkpoints)) +
           parts_text({checkpoints.report}, detail) + findings_text(checkpoints.report) +
           not_checked_text(checkpoints.report) +
           restorable_text(checkpoints, "a restore would take") + advice_on(state, checkpoints) +
           verdict_text(checkpoints.report);
}

} // namespace chainbase::inspect
