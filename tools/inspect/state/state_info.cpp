#include <archive/open_archive.hpp>
#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/state_info.hpp>

#include <boost/describe.hpp>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

namespace chainbase::inspect {

BOOST_DESCRIBE_ENUM(next_opening, attach, roll_back, restore, create, refuse)

namespace {

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
                    newest.revision, newest.has_redo_log ? ", and the blocks of the redo log" : "");
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
    if (!info.checkpoints.empty() && info.checkpoints.front().has_redo_log) return "commit";
    if (!info.header || info.header->clean != 1) return {};
    return info.header->generation == 0 ? "process" : "checkpoint";
}

} // namespace

std::string to_string(next_opening what) {
    return boost::describe::enum_to_string(what, "unknown");
}

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

} // namespace chainbase::inspect
