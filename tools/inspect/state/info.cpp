#include <archive/open_archive.hpp>
#include <chainbase/catalogue.hpp>
#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/doctor.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state/undo_report.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <boost/describe.hpp>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

// The members that parts of the report have in JSON, in their order.
BOOST_DESCRIBE_STRUCT(log_heading, (), (revision, irreversible_revision, sessions, bytes_in_use))
BOOST_DESCRIBE_STRUCT(mapped_pages, (),
                      (mappings, resident, shmem_pmd_mapped, file_pmd_mapped, anon_huge_pages))

namespace {

/// What the next opening for writing does.
enum class next_opening {
    attach,    ///< it was closed properly
    roll_back, ///< to the last completed block
    restore,   ///< a checkpoint
    create,    ///< a new state: only what an interrupted creation left is there
    refuse,    ///< throws an exception, and changes nothing
};
BOOST_DESCRIBE_ENUM(next_opening, attach, roll_back, restore, create, refuse)
/// Something that is in the way of using a state, or will be.
struct trouble {
    std::string code; ///< for programs: "writer_died", "no_checkpoint" ...; README.md lists them
    std::string what; ///< for people, with what is to be done
};
BOOST_DESCRIBE_STRUCT(trouble, (), (code, what))

/// What can be found out of a state without opening it, whatever is wrong with it. What could not
/// be read is empty, and one of `troubles` says why.
struct state_info {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files; empty if nothing says which
    bool is_in_memory = false;     ///< it is in a folder of memory, and not in the state's
    bool is_lost_with_the_machine = false;
    doctor::mount state_mount;
    doctor::mount segment_mount;
    std::string owner;         ///< of the state's folder: the user's name, or number
    std::string mode;          ///< of it, in octal: "0700"
    std::string readers_group; ///< whose members may read; empty: only the owner may

    std::optional<segment_header> header;
    bool is_this_boot = false;
    lock_report::of_writer writer;
    std::size_t readers = 0; ///< processes' slots in use
    std::optional<undo_report> log;
    std::optional<catalogue> types;
    std::optional<mapped_pages> pages; ///< of the writer's process
    std::string shmem_enabled;         ///< the kernel's setting for tmpfs and shared memory

    std::vector<checkpoint_info> checkpoints; ///< the newest first
    std::string promise; ///< "process", "checkpoint", "commit"; empty: not known
    std::string archive; ///< the kind; empty: none, or not known

    next_opening next = next_opening::refuse;
    std::string why; ///< it does that
    std::vector<trouble> troubles;

    void add(std::string code, std::string what) {
        troubles.push_back({std::move(code), std::move(what)});
    }
};

/// What is known of the segment's place and checkpoints when the next opening is foreseen.
struct opening_facts {
    bool has_place = false; ///< what says where the segment is could be read
    bool has_header_file = false;
    bool has_lock = false;
    bool is_unfinished = false;  ///< nothing but what an interrupted creation leaves
    bool has_checkpoint = false; ///< or had one: files of one are there
    std::string why_restore;     ///< why the segment is of no use; empty if it is not
    bool is_same_state = true;   ///< the checkpoints are of the segment's state
};

constexpr const char* or_replay = "put a copy of the folder in its place, or replay into a new one";

std::string move_away(const std::filesystem::path& folder) {
    return fmt::format("`mv -- {} {}`", quoted(folder),
                       quoted(std::filesystem::path(folder.string() + ".old")));
}

std::string check(const state_info& of, const char* option = "") {
    return fmt::format("`chainbase-inspect check {}{}`", option, quoted(of.state));
}

void refuse(state_info& to, std::string why) {
    to.next = next_opening::refuse;
    to.why = std::move(why);
}

void foresee_restore(const opening_facts& found, state_info& to) {
    const char* const code = to.header && !to.is_this_boot ? "machine_restarted" : "segment_lost";
    if (!found.has_checkpoint || to.checkpoints.empty()) {
        to.add(code,
               found.why_restore + ", and there is no checkpoint to go back to; " + or_replay);
        return refuse(to, found.why_restore + ", and no checkpoint can be read");
    }
    if (!found.is_same_state) return; // a trouble already
    const checkpoint_info& newest = to.checkpoints.front();
    to.next = next_opening::restore;
    to.why =
        fmt::format("{}; checkpoint {} of revision {}{}", found.why_restore, newest.generation,
                    newest.revision, newest.redo_log ? ", and the blocks of the redo log" : "");
    to.add(code, fmt::format("{}; open the state for writing once, which restores checkpoint {}. "
                             "{} reads all of it before",
                             found.why_restore, newest.generation, check(to, "--checkpoint ")));
}

/// Whether the header lets anything else be foreseen.
bool has_usable_header(const opening_facts& found, state_info& to) {
    const std::string file = (to.segment / "header").string();
    if (!found.has_header_file) {
        to.add("header_missing", file +
                                     ": missing; restore it from a copy, or, if there is a "
                                     "checkpoint to go back to, move the segment away: " +
                                     move_away(to.segment));
        refuse(to, "the segment has no header");
        return false;
    }
    if (!to.header) {
        to.add("header_damaged",
               file +
                   ": not the header of a chainbase state, or damaged; restore it from a copy, "
                   "or, if there is a checkpoint to go back to, move the segment away: " +
                   move_away(to.segment));
        refuse(to, "the segment's header is damaged");
        return false;
    }
    if (to.header->format != segment_header::current_format) {
        to.add("other_format",
               fmt::format("{}: format {}, this program knows {}; open it with the program that "
                           "wrote it, or replay into a new folder",
                           file, to.header->format, segment_header::current_format));
        refuse(to, "the segment has another format");
        return false;
    }
    return true;
}

bool is_never_synced(const state_info& of) {
    return of.header->clean == 1 && of.header->synced != 1 && !of.is_this_boot &&
           of.header->generation == 0;
}

void foresee_attaching(const opening_facts& found, state_info& to) {
    if (!found.has_lock) {
        to.add("lock_missing",
               fmt::format("{}: missing; if no process has the state open, make an empty file: "
                           "`install -m 600 /dev/null {}`",
                           (to.state / "lock").string(), quoted(to.state / "lock")));
        return refuse(to, "the file `lock` is missing");
    }
    if (is_never_synced(to)) {
        to.add("not_on_storage",
               "closed without waiting for storage, and the machine restarted since; replay into a "
               "new folder, or, if there is a checkpoint to go back to, move the segment away: " +
                   move_away(to.segment));
        return refuse(to, "nobody knows whether the segment is whole");
    }
    if (to.header->clean == 1) {
        to.next = next_opening::attach;
        to.why = "it was closed properly";
        return;
    }
    to.next = next_opening::roll_back;
    to.why = "the last writer died";
    if (to.log)
        to.why += fmt::format("; it takes back {} session(s){}, which gives revision {}",
                              to.log->taken_back.sessions,
                              to.log->taken_back.operation ? " and the operation under way" : "",
                              to.log->taken_back.revision);
    to.add("writer_died", "the last writer died; open the state for writing once, which rolls it "
                          "back to the last completed block. " +
                              check(to) + " looks at what that gives before");
}

void foresee(const opening_facts& found, state_info& to) {
    if (to.writer.is_alive)
        return refuse(to, fmt::format("process {} has it open for writing; read it beside that, or "
                                      "stop it first",
                                      to.writer.process));
    if (!found.has_place) return refuse(to, "what says where the segment is cannot be read");
    if (found.is_unfinished) {
        to.next = next_opening::create;
        to.why = "nothing is there but what an interrupted creation left";
        return;
    }
    if (!found.why_restore.empty()) return foresee_restore(found, to);
    if (has_usable_header(found, to)) foresee_attaching(found, to);
}

/// Whether a trouble that reading found makes an opening fail.
bool is_in_the_way(const trouble& one) {
    return one.code == "access" || one.code == "log_damaged" || one.code == "catalogue_damaged" ||
           one.code == "other_identity" || one.code == "checkpoint_format";
}

/// Says in `to`, which has all else, what the next opening for writing does, and names each thing
/// that is in the way.
void foresee_opening(const opening_facts& found, state_info& to) {
    foresee(found, to);
    const bool is_restored = to.next == next_opening::restore;
    for (const trouble& one : to.troubles) {
        if (to.writer.is_alive || !is_in_the_way(one)) continue;
        const bool is_of_the_old_one =
            is_restored && (one.code == "log_damaged" || one.code == "catalogue_damaged");
        if (!is_of_the_old_one) return refuse(to, one.what);
    }
}

namespace fs = std::filesystem;

/// What a step could not read is a trouble, and no reason to stop.
template <typename Step>
void attempt(state_info& to, const char* code, Step&& step) {
    try {
        step();
    } catch (const access_error& problem) {
        to.add("access", problem.what());
    } catch (const error& problem) {
        to.add(code, problem.what());
    } catch (const fs::filesystem_error& problem) {
        to.add("access", std::string(problem.what()) + "; look as the state's owner");
    }
}

std::string user_name(uid_t number) {
    const passwd* const found = ::getpwuid(number);
    return found ? found->pw_name : std::to_string(number);
}

std::string group_name(gid_t number) {
    const group* const found = ::getgrgid(number);
    return found ? found->gr_name : std::to_string(number);
}

void read_permissions(state_info& to) {
    struct stat found{};
    if (::lstat(to.state.c_str(), &found) == 0) {
        to.owner = user_name(found.st_uid);
        to.mode = fmt::format("{:04o}", found.st_mode & 07777U);
    }
    attempt(to, "access", [&] {
        const private_folder folder(to.state, /*writing=*/false);
        if (folder.readers()) to.readers_group = group_name(*folder.readers());
    });
}

void read_locks(state_info& to) {
    attempt(to, "readers_damaged", [&] {
        if (!fs::exists(to.state / "lock")) return;
        const lock_report locks = lock_report::read(to.state);
        to.writer = locks.writer;
        to.readers = locks.readers.size();
    });
}

void read_place(state_info& to, opening_facts& found) {
    attempt(to, "place_damaged", [&] {
        const segment_place place(to.state);
        found.has_place = true;
        to.segment = place.folder();
        to.is_in_memory = place.is_in_memory();
        to.is_lost_with_the_machine = place.is_lost_with_the_machine();
        found.has_header_file = fs::exists(to.segment / "header");
        if (!found.has_header_file && fs::exists(to.segment)) return;
        found.why_restore = detail::why_restore(place);
    });
}

/// As opening sees it, which goes on with that.
bool is_unfinished(const fs::path& state) {
    const std::set<std::string> leftovers{"lock", "readers", "segment.new", "segment.json.new"};
    return std::all_of(fs::directory_iterator(state), fs::directory_iterator(),
                       [&](const auto& e) { return leftovers.contains(e.path().filename()); });
}

void read_header(state_info& to, const opening_facts& found) {
    if (!found.has_header_file) return;
    attempt(to, "header_damaged", [&] {
        to.header = detail::header_in(to.segment);
        to.is_this_boot = to.header && detail::boot_of(*to.header) == detail::boot_id();
    });
}

void read_machine(state_info& to) {
    doctor::subject of{to.state, to.segment.empty() ? to.state : to.segment};
    of.is_made = !fs::exists(of.segment);
    if (of.is_made) of.segment = to.state;
    const doctor::facts found = doctor::facts_of(of);
    to.state_mount = found.state_mount;
    to.segment_mount = found.segment_mount;
    to.shmem_enabled = found.shmem_enabled;
}

void read_checkpoints(state_info& to, opening_facts& found) {
    const fs::path folder = to.state / "checkpoint";
    attempt(to, "checkpoint_format", [&] {
        found.has_checkpoint = check::has_checkpoint(disk::of_system(), folder);
        if (!found.has_checkpoint) return;
        const checkpoint::published all(disk::of_system(), folder);
        if (!all.why().empty())
            to.add("checkpoint_damaged",
                   all.why() +
                       "; `chainbase-inspect check --checkpoint` says what can be restored");
        to.checkpoints = checkpoints_of(all);
        const bool is_foreign = to.header && all.newest() && found.why_restore.empty() &&
                                all.newest()->state != to.header->identity;
        found.is_same_state = !is_foreign;
        if (is_foreign)
            to.add("other_identity", folder.string() +
                                         ": holds the checkpoint of another state; put the folder "
                                         "of this state in its place, or move it away");
    });
}

/// What is inside of a segment that an opening would use.
void read_contents(state_info& to, const opening_facts& found) {
    const bool is_readable = to.header && found.why_restore.empty() &&
                             to.header->format == segment_header::current_format;
    if (!is_readable) return;
    attempt(to, "catalogue_damaged", [&] { to.types = catalogue::read(to.segment); });
    if (is_of_another_boot(*to.header)) return;
    attempt(to, "log_damaged", [&] {
        to.log =
            read_undo(to.state, to.writer.is_alive ? undo_detail::heading : undo_detail::contents);
    });
    if (to.writer.is_alive)
        to.pages = pages_mapped_by(static_cast<pid_t>(to.writer.process), to.segment);
}

void read_archive_kind(state_info& to) {
    attempt(to, "archive", [&] {
        if (!fs::exists(to.state / "archive")) return;
        if (const auto kind = archive::kind_of(to.state / "archive"))
            to.archive = archive::to_string(*kind);
    });
}

/// What the last writer promised, where files say it.
std::string promise_of(const state_info& info) {
    if (!info.checkpoints.empty() && info.checkpoints.front().redo_log) return "commit";
    if (!info.header || info.header->clean != 1) return {};
    return info.header->generation == 0 ? "process" : "checkpoint";
}

std::string to_string(next_opening what) {
    return boost::describe::enum_to_string(what, "unknown");
}

/// Looks at a state, and changes nothing. Throws format_error when nothing of a state is there,
/// filesystem_error when it cannot be looked at.
state_info read_info(const fs::path& state) {
    if (!is_state(state))
        throw format_error(state.string() + ": no chainbase state is there; check the path");
    state_info info;
    opening_facts found;
    info.state = state;
    read_permissions(info);
    read_locks(info);
    found.has_lock = fs::exists(state / "lock");
    attempt(info, "access", [&] { found.is_unfinished = is_unfinished(state); });
    read_place(info, found);
    read_header(info, found);
    read_machine(info);
    read_checkpoints(info, found);
    read_contents(info, found);
    read_archive_kind(info);
    info.promise = promise_of(info);
    foresee_opening(found, info);
    return info;
}

bool has(const state_info& info, const char* code) {
    return std::ranges::any_of(info.troubles, [&](const trouble& one) { return one.code == code; });
}

/// "closed", "writer_running", "writer_died", "machine_restarted", "segment_lost" or "unknown".
std::string condition_of(const state_info& info) {
    if (info.writer.is_alive) return "writer_running";
    for (const char* lost : {"machine_restarted", "segment_lost"})
        if (has(info, lost)) return lost;
    if (!info.header || info.header->format != segment_header::current_format) return "unknown";
    return info.header->clean == 1 ? "closed" : "writer_died";
}

json header_of(const state_info& info) {
    if (!info.header) return nullptr;
    const segment_header& header = *info.header;
    return {{"format", header.format},
            {"windows", header.windows},
            {"window_bytes", header.window_bytes},
            {"clean", header.clean},
            {"synced", header.synced},
            {"generation", header.generation},
            {"boot", detail::boot_of(header)},
            {"this_boot", info.is_this_boot}};
}

json schema_json(const state_info& info) {
    if (!info.types) return nullptr;
    json types = json::array();
    for (const catalogue::entry& one : info.types->entries())
        types.push_back({{"name", one.schema.name}, {"hash", hash_text(one.schema.hash())}});
    return {{"hash", hash_text(schema_hash(*info.types))}, {"types", std::move(types)}};
}

json checkpoints_json(const state_info& info) {
    json all = json::array();
    for (const checkpoint_info& one : info.checkpoints) {
        all.push_back({{"generation", one.generation},
                       {"name", named_state::name_of(info.state, one.generation)}});
        all.back().update(json_of(one));
    }
    return all;
}

json place_of(const state_info& info) {
    return {{"segment", text_or_null(info.segment.string())},
            {"in_memory", info.is_in_memory},
            {"lost_with_the_machine", info.is_lost_with_the_machine},
            {"file_system", text_or_null(info.segment_mount.type)},
            {"mount", text_or_null(info.segment_mount.point.string())},
            {"state_file_system", text_or_null(info.state_mount.type)}};
}

std::string as_json(const state_info& info) {
    const bool is_writer_known = info.writer.process != 0;
    return lines_of({
        {"schema_version", 1},
        {"state", info.state.string()},
        {"condition", condition_of(info)},
        {"next_opening", {{"does", to_string(info.next)}, {"why", info.why}}},
        {"troubles", json_of(info.troubles)},
        {"header", header_of(info)},
        {"log", info.log ? json_of(info.log->heading) : json(nullptr)},
        {"writer",
         {{"process", is_writer_known ? json(info.writer.process) : json(nullptr)},
          {"alive", info.writer.is_alive}}},
        {"readers", info.readers},
        {"place", place_of(info)},
        {"huge_pages",
         {{"shmem_enabled", text_or_null(info.shmem_enabled)},
          {"mount_option", text_or_null(info.segment_mount.huge)},
          {"writer", json_of(info.pages)}}},
        {"schema", schema_json(info)},
        {"checkpoints", checkpoints_json(info)},
        {"promise", text_or_null(info.promise)},
        {"archive", text_or_null(info.archive)},
        {"permissions",
         {{"owner", info.owner},
          {"mode", info.mode},
          {"readers_group", text_or_null(info.readers_group)}}},
    });
}

std::string or_unknown(const std::string& text) {
    return text.empty() ? "unknown" : text;
}

std::string header_text(const state_info& info) {
    if (!info.header) return "header     unknown\n";
    const segment_header& header = *info.header;
    return fmt::format("header     format {}, {} windows of at most {} bytes; {}{}\n"
                       "boot       {} ({})\n",
                       header.format, header.windows, grouped(header.window_bytes),
                       header.clean == 1 ? "closed" : "open",
                       header.clean == 1 && header.synced == 1 ? ", on storage" : "",
                       or_unknown(detail::boot_of(header)),
                       info.is_this_boot ? "this one" : "not this one");
}

std::string log_text(const state_info& info) {
    if (!info.log) return "revision   unknown\n";
    const log_heading& log = info.log->heading;
    return fmt::format("revision   {}, irreversible {}; {} session(s) can be undone\n",
                       log.revision, log.irreversible_revision, grouped(log.sessions));
}

std::string writer_text(const state_info& info) {
    const std::string readers = fmt::format("; {} slot(s) of readers", info.readers);
    if (info.writer.process == 0) return "writer     not known to have had one" + readers + "\n";
    return fmt::format("writer     process {}, which {}{}\n", info.writer.process,
                       info.writer.is_alive ? "is running" : "is gone", readers);
}

std::string place_text(const state_info& info) {
    if (info.segment.empty()) return "segment    unknown\n";
    return fmt::format("segment    {}: in {}, {} mounted at {}{}\n", info.segment.string(),
                       info.is_in_memory ? "a folder of memory" : "the state's folder",
                       or_unknown(info.segment_mount.type), info.segment_mount.point.string(),
                       info.is_lost_with_the_machine ? "; lost when the machine stops" : "");
}

std::string huge_pages_text(const state_info& info) {
    if (!info.pages)
        return fmt::format("huge pages unknown: {}; tmpfs of the kernel: {}\n",
                           info.writer.is_alive ? "the writer's /proc/PID/smaps cannot be read"
                                                : "no writer is running",
                           or_unknown(info.shmem_enabled));
    return fmt::format(
        "huge pages {} of the {} that the writer has in memory; tmpfs of the kernel: "
        "{}\n",
        bytes_in_words(info.pages->huge()), bytes_in_words(info.pages->resident),
        or_unknown(info.shmem_enabled));
}

std::string checkpoints_text(const state_info& info) {
    if (info.checkpoints.empty()) return "checkpoint none\n";
    std::string text;
    for (const checkpoint_info& one : info.checkpoints)
        text += fmt::format("checkpoint {} of revision {}, irreversible {}; {} s old, {}{}; to be "
                            "looked at as {}\n",
                            one.generation, one.revision, one.irreversible_revision,
                            std::time(nullptr) - one.time, bytes_in_words(one.bytes),
                            one.redo_log ? "; a redo log follows it" : "",
                            named_state::name_of(info.state, one.generation));
    return text;
}

std::string schema_text(const state_info& info) {
    if (!info.types) return "schema     unknown\n";
    text_table types({"type", "hash"});
    for (const catalogue::entry& one : info.types->entries())
        types.add({one.schema.name, hash_text(one.schema.hash())});
    return fmt::format("schema     hash {}, {} type(s)\n", hash_text(schema_hash(*info.types)),
                       info.types->entries().size()) +
           (info.types->entries().empty() ? "" : "\n" + types.text());
}

std::string opening_text(const state_info& info) {
    return fmt::format("condition  {}\nopening    would {}: {}\n", condition_of(info),
                       to_string(info.next), info.why);
}

std::string rest_text(const state_info& info) {
    return fmt::format("promise    {}\narchive    {}\nfolder     owner {}, mode {}; {}\n",
                       or_unknown(info.promise), info.archive.empty() ? "none" : info.archive,
                       or_unknown(info.owner), or_unknown(info.mode),
                       info.readers_group.empty()
                           ? "no group may read"
                           : "the group " + info.readers_group + " may read");
}

std::string as_text(const state_info& info) {
    std::string text = fmt::format("state      {}\n", info.state.string()) + opening_text(info) +
                       header_text(info) + log_text(info) + writer_text(info) + place_text(info) +
                       huge_pages_text(info) + checkpoints_text(info) + rest_text(info) +
                       schema_text(info);
    for (const trouble& one : info.troubles)
        text += fmt::format("\n{}: {}\n", one.code, one.what);
    return text;
}

} // namespace

void declare_info(command& verb) {
    declare_report(verb, "Print one JSON object instead of text", read_info);
}

} // namespace chainbase::inspect
