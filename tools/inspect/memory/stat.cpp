#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/memory/stat_watch.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::inspect {

namespace {

/// Beside a writer no sample may have been possible; of a state at rest the sums must hold.
bool is_damaged(const state_report& report) {
    return report.condition == condition::closed && !report.consistent;
}

/// Beside a writer an archive may be unreadable for a moment; beside a closed state it has no
/// excuse.
bool has_lost_archive(const state_report& state, const std::optional<archive_report>& archive) {
    return state.condition == condition::closed && archive && !archive->refusal.empty();
}

exit_code run_stat(const watch_options& asked) {
    const named_state named(asked.state);
    state_report state = read_state(named.folder());
    state.state = asked.state;
    if (named.is_checkpoint()) state.segment = named.origin() / "checkpoint";
    const std::optional<archive_report> archive = read_archive(named.origin());
    print_or_throw(asked.json ? as_json(state, archive) : as_text(state, archive));
    return verdict_of(state, archive);
}

} // namespace

exit_code verdict_of(const state_report& state, const std::optional<archive_report>& archive) {
    exit_code result = exit_code::done;
    if (is_damaged(state)) {
        spdlog::error("{}: the state is closed, and what it counts is not what its files hold",
                      state.state.string());
        result = exit_code::failed;
    }
    if (has_lost_archive(state, archive)) {
        spdlog::error("{}: the state is closed, and its archive cannot be read: {}",
                      state.state.string(), archive->refusal);
        result = exit_code::failed;
    }
    return result;
}

void declare_stat(command& verb) {
    struct call : watch_options {
        std::uint64_t seconds = 1;
    };
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--json", asked->json, "Print one JSON object instead of tables");
    command_option& watch =
        verb.add_option("--watch", asked->seconds,
                        "Repeat it, every second or so many SECONDS, with the growth per minute; "
                        "without a terminal one JSON object a line")
            .optional_value("1")
            .value_name("[SECONDS]")
            .whole_number(1, 86'400);
    verb.add_option("--count", asked->samples, "End after so many reports")
        .needs(watch)
        .whole_number(1, UINT64_MAX);
    verb.runs([asked, &watch] {
        asked->pause = std::chrono::seconds(asked->seconds);
        return look_at(asked->state,
                       [&] { return watch.given() ? watch_state(*asked) : run_stat(*asked); });
    });
}

std::string to_string(condition what) {
    switch (what) {
    case condition::closed:
        return "closed";
    case condition::writer_running:
        return "writer_running";
    case condition::writer_died:
        return "writer_died";
    }
    return "unknown";
}

} // namespace chainbase::inspect
