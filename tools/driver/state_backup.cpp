#include <chainbase/database.hpp>
#include <chainbase/offline/backup.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/memory_folder.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

namespace {

namespace fs = std::filesystem;
using archive::backup_manifest;
using clock = std::chrono::steady_clock;

/// The result of making, restoring or checking a backup.
struct backup_report {
    fs::path backup;
    fs::path state; ///< the source, or the target of a restore; empty: neither
    backup_manifest manifest;
    /// Set when made. If true, the backup lacks the writer's work since its last checkpoint.
    std::optional<bool> beside_writer;
    double seconds = 0;
};

double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
}

/// Backs up a state without a writer: first makes a checkpoint of it.
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

/// Omits the block's number: only the writer knows it, and may be busy for long.
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
    if (!report.beside_writer) // it was restored
        return fmt::format("{}, restored from the backup {}\n", report.state.string(),
                           report.backup.string());
    return fmt::format("{}, a backup of the state {}\n", report.backup.string(),
                       report.state.string());
}

/// Without a writer, opens the state as a replay would and backs up its content: after a kill the
/// last whole block. Beside a writer, backs up the newest published checkpoint.
backup_report make_backup(const fs::path& state, const fs::path& to) {
    const auto begin = clock::now();
    progress shown("backing up");
    archive::backup_options how;
    how.tell = shown.as_callback();
    backup_report report{to, state, {}, {}, 0};
    report.beside_writer = file_lock::is_held(state / "lock");
    report.manifest = *report.beside_writer ? back_up_beside_writer(state, to, how)
                                            : back_up_at_rest(state, to, how);
    report.seconds = seconds_since(begin);
    return report;
}

/// Makes the segment of a restored state, and closes it: everybody can look into the state then.
/// If that fails, the next opening does it: the state is whole.
void open_once(const fs::path& state, const fs::path& memory_folder) {
    open_options how;
    how.memory_folder = memory_folder;
    try {
        database(state, how).close();
    } catch (const error& problem) {
        spdlog::warn("{}: is restored, but could not be opened yet: {}", state.string(),
                     problem.what());
    }
}

backup_report restore_backup(const fs::path& from, const fs::path& state, const std::string& group,
                             const fs::path& memory_folder) {
    const auto begin = clock::now();
    progress shown("restoring");
    const archive::restore_options how{group, shown.as_callback()};
    backup_manifest manifest = archive::restore_backup(from, state, how);
    open_once(state, memory_folder);
    return {from, state, std::move(manifest), {}, seconds_since(begin)};
}

backup_report check_backup(const fs::path& from) {
    const auto begin = clock::now();
    progress shown("checking");
    backup_manifest manifest = archive::check_backup(from, shown.as_callback());
    return {from, {}, std::move(manifest), {}, seconds_since(begin)};
}

json report_value(const backup_report& report) {
    const backup_manifest& of = report.manifest;
    const auto remark = [&](const char* name) {
        const auto found = of.remarks.find(name);
        return found == of.remarks.end() ? std::string() : found->second;
    };
    const std::string block = remark("block");
    json all = {{"backup", report.backup.string()},
                {"state", text_or_null(report.state.string())},
                {"chain", text_or_null(remark("chain"))},
                {"block", block.empty() ? json() : json(std::stoull(block))},
                {"identity", of.identity()},
                {"revision", of.revision},
                {"irreversible_revision", of.committed},
                {"checkpoint", of.generation},
                {"checkpoint_time", of.time},
                {"archive", archive::to_string(of.archive)},
                {"rows", of.rows},
                {"files", of.files.size()},
                {"bytes", of.bytes()},
                {"seconds", report.seconds}};
    if (report.beside_writer) all["beside_writer"] = *report.beside_writer;
    return all;
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
    return text + backup_row("took", duration_in_words(report.seconds));
}

} // namespace

void declare_backup(command& verb) {
    struct call {
        std::filesystem::path state;
        std::filesystem::path to;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--state", options->state, "folder of the state")
        .value_name("FOLDER")
        .required();
    verb.add_option("--to", options->to, "folder of the backup, which is made")
        .value_name("FOLDER")
        .required();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const catch_interruption signals;
        const backup_report report = make_backup(options->state, options->to);
        print_report(report, options->json);
        return exit_code::done;
    });
}

void declare_restore(command& verb) {
    struct call {
        std::filesystem::path from;
        std::filesystem::path state;
        std::filesystem::path memory_folder;
        std::string group;
        bool check = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--from", options->from, "folder of the backup")
        .value_name("FOLDER")
        .required();
    command_option& state =
        verb.add_option("--state", options->state, "folder of the state, which is made")
            .value_name("FOLDER");
    verb.add_option("--group", options->group,
                    "a group, by name or number, whose members may read the state and its "
                    "archive; without it only the owner may")
        .needs(state);
    add_memory_folder(verb, options->memory_folder).needs(state);
    command_option& check =
        verb.add_flag("--check", options->check, "only compare the backup with its checksums")
            .excludes(state);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options, &state, &check] {
        if (!state.given() && !check.given())
            throw usage_error("restore: --state is required, or --check");
        const catch_interruption signals;
        const backup_report report = options->check
                                         ? check_backup(options->from)
                                         : restore_backup(options->from, options->state,
                                                          options->group, options->memory_folder);
        print_report(report, options->json);
        return exit_code::done;
    });
}

} // namespace chainbase::driver
