#include <archive/archive_check.hpp>
#include <archive/open_archive.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/state/check.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

namespace chainbase::inspect {

namespace {

struct check_call {
    std::string state;
    int detail = 0;
    bool checkpoint = false;
    bool json = false;
};

/// Adds what `look` finds of the archive. One that cannot be opened is a finding, unless it is who
/// asks that may not.
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

/// That there is none is a finding only if something was handed over to it.
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

/// What was found, as an exit code; what is only refused is told on stderr, too, with its remedy.
exit_code told(const check::part_report& report) {
    const std::vector<std::string> refused = report.refused_in_all();
    for (const std::string& one : refused)
        spdlog::error(one);
    if (report.found_in_all() != 0) return exit_code::damaged;
    return refused.empty() ? exit_code::done : exit_code::failed;
}

exit_code check_state(const check_call& asked) {
    check::state_check state(asked.state);
    check_archive(state);
    print_or_throw(asked.json ? as_json(state) : as_text(state, asked.detail));
    return told(state.report());
}

exit_code check_checkpoint(const check_call& asked) {
    const auto found = check::check_checkpoints(disk::of_system(), asked.state);
    print_or_throw(asked.json ? as_json(asked.state, found)
                              : as_text(asked.state, found, asked.detail));
    return told(found.report);
}

} // namespace

void declare_check(command& verb) {
    const auto asked = std::make_shared<check_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("-v", asked->detail, "List what was checked; -vv: every structure of every type");
    verb.add_flag("--checkpoint", asked->checkpoint,
                  "Check the state's checkpoints in place of its segment, also beside a writer");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of text");
    verb.runs([asked] {
        return look_at(asked->state, [&] {
            return asked->checkpoint ? check_checkpoint(*asked) : check_state(*asked);
        });
    });
}

std::string to_string(check::condition what) {
    switch (what) {
    case check::condition::unknown:
        return "unknown";
    case check::condition::segment_lost:
        return "segment_lost";
    case check::condition::closed:
        return "closed";
    case check::condition::writer_died:
        return "writer_died";
    case check::condition::machine_restarted:
        return "machine_restarted";
    }
    return "unknown";
}

std::string to_string(check::standing what) {
    switch (what) {
    case check::standing::whole:
        return "whole";
    case check::standing::damaged:
        return "damaged";
    case check::standing::replaced:
        return "replaced";
    case check::standing::refused:
        return "refused";
    }
    return "unknown";
}

} // namespace chainbase::inspect
