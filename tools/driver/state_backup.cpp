#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/log_progress.hpp>
#include <tools/driver/progress.hpp>
#include <tools/driver/state_backup.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <map>

namespace chainbase::driver {

namespace {

namespace fs = std::filesystem;
using archive::backup_manifest;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
}

/// Of a state that nobody else writes: what is there is brought to a checkpoint.
backup_manifest back_up_at_rest(const fs::path& folder, const fs::path& to,
                                archive::backup_options& how) {
    chain_state state(folder, chain_state::require_chain(folder), 0);
    if (!state.state().memory().is_in_checkpoint()) state.state().make_checkpoint();
    how.remarks = [&](const backup_manifest&) -> std::map<std::string, std::string> {
        return {{"chain", state.chain()}, {"block", std::to_string(state.head())}};
    };
    backup_manifest made = archive::back_up(folder, to, how);
    state.close();
    return made;
}

/// Which block that is would be for the writer to say, and it may be busy for long.
backup_manifest back_up_beside_writer(const fs::path& folder, const fs::path& to,
                                      const archive::backup_options& how) {
    spdlog::info("{}: a writer has it open; the backup is of its newest checkpoint",
                 folder.string());
    return archive::back_up(folder, to, how);
}

std::string time_in_words(std::int64_t seconds) {
    return fmt::format("{:%F %T} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string backup_row(const std::string& name, const std::string& value) {
    return fmt::format("  {:<24}{}\n", name, value);
}

std::string begin_of_text(const backup_report& report) {
    if (report.state.empty()) return fmt::format("{} is whole\n", report.backup.string());
    return fmt::format("{}, a backup of the state {}\n", report.backup.string(),
                       report.state.string());
}

} // namespace

backup_report make_backup(const fs::path& state, const fs::path& to) {
    const auto begin = clock::now();
    log_progress shown("backing up");
    archive::backup_options how;
    how.tell = shown.as_watcher();
    backup_report report;
    report.backup = to;
    report.state = state;
    report.beside_writer = file_lock::is_held(state / "lock");
    report.manifest = *report.beside_writer ? back_up_beside_writer(state, to, how)
                                            : back_up_at_rest(state, to, how);
    report.seconds = seconds_since(begin);
    return report;
}

backup_report restore_backup(const fs::path& from, const fs::path& state,
                             const std::string& group) {
    const auto begin = clock::now();
    log_progress shown("restoring");
    const archive::restore_options how{group, shown.as_watcher()};
    backup_report report;
    report.backup = from;
    report.state = state;
    report.manifest = archive::restore_backup(from, state, how);
    report.seconds = seconds_since(begin);
    return report;
}

backup_report check_backup(const fs::path& from) {
    const auto begin = clock::now();
    log_progress shown("checking");
    backup_report report;
    report.backup = from;
    report.manifest = archive::check_backup(from, shown.as_watcher());
    report.seconds = seconds_since(begin);
    return report;
}

std::string to_json(const backup_report& report) {
    using json = nlohmann::ordered_json;
    const backup_manifest& of = report.manifest;
    json all = {{"backup", report.backup.string()}};
    all["state"] = report.state.empty() ? json() : json(report.state.string());
    const auto remark = [&](const char* name) {
        const auto found = of.remarks.find(name);
        return found == of.remarks.end() ? std::string() : found->second;
    };
    all["chain"] = remark("chain").empty() ? json() : json(remark("chain"));
    all["block"] = remark("block").empty() ? json() : json(std::stoull(remark("block")));
    all["identity"] = of.identity();
    all["revision"] = of.revision;
    all["irreversible_revision"] = of.committed;
    all["checkpoint"] = of.generation;
    all["checkpoint_time"] = of.time;
    if (report.beside_writer) all["beside_writer"] = *report.beside_writer;
    all["archive"] = archive::to_string(of.archive);
    all["rows"] = of.rows;
    all["files"] = of.files.size();
    all["bytes"] = of.bytes();
    all["seconds"] = report.seconds;
    return all.dump();
}

std::string to_text(const backup_report& report) {
    const backup_manifest& of = report.manifest;
    std::string text = begin_of_text(report);
    for (const auto& [name, value] : of.remarks)
        text += backup_row(name, value);
    text += backup_row("revision", fmt::format("{}, irreversible {}", of.revision, of.committed));
    text += backup_row(
        "checkpoint",
        fmt::format("{} of {}{}", of.generation, time_in_words(of.time),
                    report.beside_writer.value_or(false) ? ", the writer's newest" : ""));
    text += backup_row("archive", std::string(archive::to_string(of.archive)));
    for (const auto& [table, rows] : of.rows)
        text += backup_row("  " + table, fmt::format("{} rows", rows));
    text += backup_row("files", fmt::format("{}, {}", of.files.size(), bytes_in_words(of.bytes())));
    return text + backup_row("took", fmt::format("{:.1f} s", report.seconds));
}

} // namespace chainbase::driver
