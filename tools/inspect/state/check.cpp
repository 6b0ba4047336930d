#include <archive/open_archive.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/offline/archive_check.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

namespace chainbase::check {

BOOST_DESCRIBE_ENUM(standing, whole, damaged, replaced, refused)

static std::string to_string(standing what) {
    return boost::describe::enum_to_string(what, "unknown");
}

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(finding, (), (file, offset, slot, object, what))
BOOST_DESCRIBE_STRUCT(checked_publication, (),
                      (generation, revision, irreversible_revision, time, pages, standing))

static json report_value(const survivors& one) {
    return {{"type", one.type},
            {"objects", one.is_known ? json(one.objects) : json(nullptr)},
            {"whole", one.is_known ? json(one.whole) : json(nullptr)}};
}

static json report_value(const part_report& part) {
    json figures = json::object();
    for (const auto& figure : part.figures)
        figures[figure.what] = figure.number;
    return {{"name", part.name},
            {"type", part.type},
            {"key", part.key},
            {"found", part.found},
            {"findings", json_of(part.findings)},
            {"not_checked", part.not_checked},
            {"refused", part.refused},
            {"figures", std::move(figures)},
            {"seconds", part.seconds},
            {"parts", json_of(part.parts)}};
}

} // namespace chainbase::check

namespace chainbase::inspect {

namespace {

/// Whether everything checked is sound.
void add_verdict(json& to, const check::part_report& report) {
    const std::vector<std::string> refused = report.refused_in_all();
    const std::uint64_t found = report.found_in_all();
    to["sound"] = found == 0 && refused.empty();
    to["found"] = found;
    to["not_checked"] = report.not_checked_in_all();
    to["refused"] = refused;
}

/// Revision and sessions, as far as the log is readable.
void add_log(json& to, const check::log_facts& log) {
    const auto known = [&](const json& value) { return log.is_known ? value : json(nullptr); };
    to["revision"] = known(log.revision);
    to["irreversible_revision"] = known(log.irreversible_revision);
    to["sessions"] = known(log.sessions);
    to["rolled_back"] = known({{"operation", log.operation}, {"sessions", log.undone}});
}

/// Including the checkpoint that a restore would take; null without one.
void add_checkpoints(json& to, const check::checked_checkpoints& all) {
    const check::checked_publication* best = all.restorable();
    to["restorable"] = best ? json(best->generation) : json(nullptr);
    to["publications"] = json_of(all.publications);
    to["blocks"] = all.blocks;
}

std::string as_json(const check::state_check& state) {
    json all = {{"schema_version", 1}, {"state", state.state().string()}};
    add_verdict(all, state.report());
    all["condition"] = to_string(state.condition());
    add_log(all, state.log());
    if (state.checkpoints()) add_checkpoints(all, *state.checkpoints());
    all["survived"] = json_of(state.survived());
    all["parts"] = json_of(state.report().parts);
    return lines_of(all);
}

std::string as_json(const std::string& state, const check::checked_checkpoints& checkpoints) {
    json all = {{"schema_version", 1}, {"state", state}};
    add_verdict(all, checkpoints.report);
    add_checkpoints(all, checkpoints);
    all["parts"] = json::array({json_of(checkpoints.report)});
    return lines_of(all);
}

std::string name_of(const check::part_report& part) {
    return part.type.empty() || part.type == part.name ? part.name : part.type + " " + part.name;
}

/// Calls visit(part) for the parts of a report, recursively.
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

/// The parts, recursively down to `detail`.
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
    case segment_condition::unknown:
        break;
    case segment_condition::closed:
        return "closed properly";
    case segment_condition::writer_died:
        return fmt::format("the last writer died; the next opening rolls back {} session(s){}, "
                           "and the state after that is checked",
                           state.log().undone,
                           state.log().operation ? " and the operation under way" : "");
    case segment_condition::machine_restarted:
    case segment_condition::copied_while_open:
    case segment_condition::segment_lost:
        return state.why_lost() + "; the segment cannot be used, and its pages are not checked";
    }
    return "unknown";
}

/// Unix seconds; a damaged file may hold any number.
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

/// `what`: "a restore would take", "the next opening takes".
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
        text = "what survives: found by id and by every key, with all its buffers:\n" + text;
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

/// What to do about damaged checkpoints.
std::string advice_on(const std::string& state, const check::checked_checkpoints& checkpoints) {
    if (checkpoints.report.found_in_all() == 0) return {};
    std::string text;
    if (const check::checked_publication* best = checkpoints.restorable())
        text = fmt::format("if the segment is lost, opening goes on from checkpoint {}; blocks "
                           "after revision {} must then be replayed\n",
                           best->generation, best->revision);
    else
        text = "if the segment is lost, only a copy or a replay is left to go on from\n";
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
    return text + fmt::format("not known to be sound: {} file(s) may not be used as they are, "
                              "and opening refuses them; nothing else was found{}\n",
                              refused.size(), open);
}

/// `detail`: 0 only the faults, 1 also each part, 2 also their parts.
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

struct check_call : state_call {
    int detail = 0;
    bool checkpoint = false;
};

/// Adds the findings of `look` about the archive. An archive that cannot be opened is a finding,
/// unless the user lacks the permission.
template <typename Look>
void check_archive(check::part_report& to, Look&& look) {
    const check::stopwatch timed(to);
    const auto refuse = [&](const error& why) { to.add({"archive", {}, why.what()}); };
    try {
        look();
    } catch (const damaged_error& e) {
        refuse(e);
    } catch (const format_error& e) {
        refuse(e);
    } catch (const access_error& e) {
        to.refused.emplace_back(e.what());
    } catch (const io_error& e) {
        to.refused.emplace_back(e.what());
    }
}

/// A missing archive is a finding only if something was handed over to it.
void check_archive(check::state_check& state) {
    check::part_report part;
    part.name = "archive";
    const bool is_there = std::filesystem::exists(state.state() / "archive");
    check_archive(part, [&] {
        using archive::store_kind;
        const auto kind = archive::kind_of(state.state() / "archive");
        if (kind == store_kind::memory && state.is_mapped())
            archive::check_rows_in_memory(state, part);
        else if (kind == store_kind::memory)
            part.not_checked.emplace_back("rows: they are in the segment");
        else if (is_there && kind != store_kind::none)
            archive::check_rows(state, *open_archive(state.state()), part);
        else if (state.is_mapped() && !is_there)
            archive::require_tables(state, {}, part);
        else if (is_lost(state.condition()))
            part.not_checked.emplace_back("whether there has to be one");
    });
    const bool is_told = is_there || part.found_in_all() != 0 || !part.not_checked.empty();
    if (is_told) state.report().parts.push_back(std::move(part));
}

/// Opening refuses another state's checkpoints, even with a sound segment.
void check_identity(check::state_check& state) {
    if (is_lost(state.condition())) return;
    check::part_report part;
    part.name = "checkpoint";
    check::check_identity(disk::of_system(), state.state(), part);
    if (part.found != 0) state.report().parts.push_back(std::move(part));
}

/// The exit code for the findings. Refused files are also reported on stderr, with what to do.
exit_code told(const check::part_report& report) {
    const std::vector<std::string> refused = report.refused_in_all();
    for (const std::string& one : refused)
        spdlog::error(one);
    if (report.found_in_all() != 0) return exit_code::damaged;
    return refused.empty() ? exit_code::done : exit_code::failed;
}

exit_code check_state(const check_call& asked) {
    std::optional<progress> shown("checking");
    check::state_check state(asked.state, shown->as_callback());
    shown.reset();
    check_identity(state);
    check_archive(state);
    print_or_throw(asked.json ? as_json(state) : as_text(state, asked.detail));
    return told(state.report());
}

exit_code check_checkpoint(const check_call& asked) {
    std::optional<progress> shown("checking");
    const auto found =
        check::check_checkpoints(disk::of_system(), asked.state, shown->as_callback());
    shown.reset();
    print_or_throw(asked.json ? as_json(asked.state, found)
                              : as_text(asked.state, found, asked.detail));
    return told(found.report);
}

exit_code run_check(const check_call& asked) {
    return asked.checkpoint ? check_checkpoint(asked) : check_state(asked);
}

} // namespace

void declare_check(command& verb) {
    const auto asked = declare_look<check_call>(verb, run_check);
    verb.add_flag("-v", asked->detail, "List what was checked; -vv: every structure of every type");
    verb.add_flag("--checkpoint", asked->checkpoint,
                  "Check the state's checkpoints in place of its segment; possible while a "
                  "writer runs");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of text");
}

} // namespace chainbase::inspect
