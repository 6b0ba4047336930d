#include <archive/open_archive.hpp>
#include <chainbase/offline/backup.hpp>
#include <chainbase/offline/snapshot_copy.hpp>
#include <chainbase/offline/unfinished_state.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

struct backup_call : state_call {
    fs::path to;
    bool without_archive = false;
};

/// Its rows are not bound to a block, so no snapshot has them.
void require_no_rows_apart(const backup_call& asked) {
    if (asked.without_archive) return;
    const auto kind = archive::kind_of(fs::path(asked.state) / "archive");
    if (!kind || *kind != archive::store_kind::rocksdb) return;
    throw usage_error(fmt::format("{}: has an archive, whose rows are not in a snapshot; back up "
                                  "both with `chainbase-driver backup --state {} --to {}`, or the "
                                  "state alone with --without-archive",
                                  asked.state, quoted(fs::path(asked.state)), quoted(asked.to)));
}

std::string backup_json(const backup_call& asked, const snapshot_copy::result& made,
                        bool is_beside_writer, double seconds) {
    return line_of({{"schema_version", 1},
                    {"backup", asked.to.string()},
                    {"state", asked.state},
                    {"revision", made.revision},
                    {"types", made.types},
                    {"objects", made.objects},
                    {"bytes", made.bytes},
                    {"beside_writer", is_beside_writer},
                    {"seconds", seconds}}) +
           "\n";
}

std::string backup_text(const backup_call& asked, const snapshot_copy::result& made,
                        bool is_beside_writer) {
    return fmt::format("{}: {} objects of {} types, {}, as of revision {} of {}{}\n",
                       asked.to.string(), made.objects, made.types, bytes_in_words(made.bytes),
                       made.revision, asked.state,
                       is_beside_writer ? ", which a process is writing" : "");
}

snapshot_copy::result back_up(const backup_call& asked) {
    const catch_interruption interruption;
    snapshot_copy source(asked.state); // refuses what is no state before anything is made
    require_no_rows_apart(asked);
    archive::require_outside(asked.to, asked.state);
    unfinished_state made(asked.to, source.readers_group());
    progress shown("copying");
    const snapshot_copy::result copied = source.make(made.path(), shown.as_callback());
    made.finish();
    return copied;
}

exit_code run_backup(const backup_call& asked) {
    const auto begin = std::chrono::steady_clock::now();
    const bool is_beside_writer = file_lock::is_held(fs::path(asked.state) / "lock");
    try {
        const snapshot_copy::result made = back_up(asked);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        print_or_throw(asked.json ? backup_json(asked, made, is_beside_writer, took.count())
                                  : backup_text(asked, made, is_beside_writer));
        return exit_code::done;
    } catch (const too_old_error& problem) {
        spdlog::error("{}", problem.what());
        return exit_code::moved;
    }
}

} // namespace

void declare_backup(command& verb) {
    const auto asked = declare_look<backup_call>(verb, run_backup);
    verb.add_option("--to", asked->to, "The folder to make; it must not exist")
        .value_name("FOLDER")
        .required();
    verb.add_flag("--without-archive", asked->without_archive,
                  "Leave out the rows of the archive, if they are in files of their own");
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

} // namespace chainbase::inspect
