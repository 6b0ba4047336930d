#include <archive/open_archive.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/state_info.hpp>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

namespace chainbase::inspect {

namespace {

/// The facts about the next opening.
struct found_facts {
    std::optional<opening_facts> facts; ///< nothing if the segment's location is unreadable
    opening_plan plan;                  ///< derived from them
};

std::string check(const state_info& of, const char* option = "") {
    return fmt::format("`chainbase-inspect check {}{}`", option, quoted(of.state));
}

void refuse(state_info& to, std::string why) {
    to.next = opening_way::refuse;
    to.why = std::move(why);
}

void foresee_restore(const opening_plan& plan, state_info& to) {
    if (to.checkpoints.empty()) {
        to.add(plan.code, plan.why + ", and no checkpoint can be read; put a copy of the folder in "
                                     "its place, or replay into a new one");
        return refuse(to, plan.why + ", and no checkpoint can be read");
    }
    const checkpoint_info& newest = to.checkpoints.front();
    to.why =
        fmt::format("{}; checkpoint {} of revision {}{}", plan.why, newest.generation,
                    newest.revision, newest.redo_log ? ", and the blocks of the redo log" : "");
    to.add(plan.code, fmt::format("{}; open the state for writing once, which restores "
                                  "checkpoint {}. {} can check all of it before",
                                  plan.why, newest.generation, check(to, "--checkpoint ")));
}

void foresee_rollback(const opening_plan& plan, state_info& to) {
    if (to.log)
        to.why += fmt::format("; it rolls back {} session(s){}, to revision {}",
                              to.log->taken_back.sessions,
                              to.log->taken_back.operation ? " and the operation under way" : "",
                              to.log->taken_back.revision);
    to.add(plan.code, "the last writer died; open the state for writing once, which rolls it back "
                      "to the last completed block. " +
                          check(to) + " can check the result before");
}

void foresee(const opening_plan& plan, state_info& to) {
    to.condition = to_string(plan.condition);
    to.next = plan.does;
    to.why = plan.why;
    if (plan.does == opening_way::restore) foresee_restore(plan, to);
    if (plan.does == opening_way::roll_back) foresee_rollback(plan, to);
    if (plan.does == opening_way::refuse) to.add(plan.code, plan.message);
}

/// Whether a trouble found while reading makes an opening fail.
bool is_in_the_way(const trouble& one) {
    return one.code == "access" || one.code == "log_damaged" || one.code == "catalogue_damaged" ||
           one.code == "other_identity" || one.code == "checkpoint_format" || one.code == "file" ||
           one.code == "readers_damaged";
}

/// Adds to `to`, which is otherwise complete, what the next opening for writing does, and names
/// each obstacle.
void predict_opening(const found_facts& found, state_info& to) {
    if (to.writer.is_alive) {
        to.condition = "writer_running";
        return refuse(to, fmt::format("process {} has it open for writing; read it meanwhile, or "
                                      "stop that process first",
                                      to.writer.process));
    }
    to.condition = to_string(found.plan.condition);
    if (!found.facts) return refuse(to, "the file that says where the segment is cannot be read");
    foresee(found.plan, to);
    const bool is_restored = to.next == opening_way::restore;
    for (const trouble& one : to.troubles) {
        if (!is_in_the_way(one)) continue;
        const bool is_of_the_old_one =
            is_restored && (one.code == "log_damaged" || one.code == "catalogue_damaged");
        if (!is_of_the_old_one) return refuse(to, one.what);
    }
}

namespace fs = std::filesystem;

/// An unreadable part becomes a trouble; the other steps continue.
template <typename Step>
void attempt(state_info& to, const char* code, Step&& step) {
    try {
        step();
    } catch (const access_error& problem) {
        to.add("access", problem.what());
    } catch (const error& problem) {
        to.add(code, problem.what());
    } catch (const fs::filesystem_error& problem) {
        to.add("access", std::string(problem.what()) + "; run the program as the owner of the "
                                                       "state");
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
        if (!fs::is_regular_file(fs::symlink_status(to.state / "lock"))) return;
        const lock_report locks = lock_report::read(to.state);
        to.writer = locks.writer;
        to.readers = locks.readers.size();
    });
}

void read_place(state_info& to, found_facts& found) {
    attempt(to, "place_damaged", [&] {
        const segment_place place(to.state);
        to.segment = place.folder();
        to.is_in_memory = place.is_in_memory();
        to.is_lost_with_the_machine = place.is_lost_with_the_machine();
        found.facts = opening_facts::read(to.state, place, disk::of_system(), /*writing=*/false);
    });
    if (!found.facts) return;
    found.plan = opening_plan::of(*found.facts);
    to.header = found.facts->header;
    to.is_this_boot = found.facts->is_of_this_boot;
}

/// Checks the owner, mode and kind of each file that opening may use. Missing files are checked
/// elsewhere.
void look_at_files(state_info& to, const opening_plan& plan) {
    const fs::path segment = is_lost(plan.condition) ? fs::path() : to.segment;
    check::part_report found;
    attempt(to, "access", [&] { check::check_files(to.state, segment, found); });
    for (std::string& one : found.refused)
        to.add("access", std::move(one));
    for (const check::finding& one : found.findings)
        to.add("file", one.file + ": " + one.what);
}

void read_cached(state_info& to) {
    if (!fs::is_directory(to.segment)) return;
    attempt(to, "file", [&] {
        cached_bytes sum;
        for (const fs::directory_entry& each : fs::directory_iterator(to.segment))
            if (each.is_regular_file() && !each.is_symlink()) sum += cached_bytes_of(each.path());
        to.cached = sum;
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

void read_checkpoints(state_info& to) {
    const fs::path folder = to.state / "checkpoint";
    attempt(to, "checkpoint_format", [&] {
        if (!has_checkpoint(disk::of_system(), folder)) return;
        const checkpoint::published all(disk::of_system(), folder);
        if (!all.why().empty())
            to.add("checkpoint_damaged",
                   all.why() +
                       "; `chainbase-inspect check --checkpoint` says what can be restored");
        to.checkpoints = checkpoints_of(all);
        if (to.header && all.newest() && all.newest()->state != to.header->identity)
            to.add("other_identity", folder.string() +
                                         ": holds the checkpoint of another state; put the folder "
                                         "of this state in its place, or move it away");
    });
}

/// Reads the content of a segment that an opening would use.
void read_contents(state_info& to, const opening_plan& plan) {
    const bool is_readable = to.header && !is_lost(plan.condition) &&
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

/// The last writer's durability, if the files tell it.
std::string durability_of(const state_info& info) {
    if (!info.checkpoints.empty() && info.checkpoints.front().redo_log) return "commit";
    if (!info.header || info.header->clean != 1) return {};
    return info.header->generation == 0 ? "process" : "checkpoint";
}

/// Why a new segment would be there, too, or how this one gets into memory.
std::string why_on_disk(const state_info& info) {
    if (info.is_in_memory) return {};
    const doctor::preference preferred = doctor::preferred_place(info.state);
    if (!preferred.why_not.empty()) return preferred.why_not;
    if (info.durability == "process") return doctor::without_checkpoints;
    const fs::path& memory = preferred.memory;
    std::error_code unreadable;
    if (!fs::is_directory(memory, unreadable)) return memory.string() + " is no folder";
    doctor::subject of{info.state, memory};
    of.is_made = true;
    const std::string why = doctor::why_not_in_memory(doctor::facts_of(of));
    if (!why.empty()) return why;
    return memory.string() + " has room for it: open it once with --memory-folder " +
           quoted(memory);
}

} // namespace

state_info read_info(const fs::path& state) {
    if (!is_state(state)) throw no_state_at(state);
    state_info info;
    found_facts found;
    info.state = state;
    read_permissions(info);
    read_locks(info);
    read_place(info, found);
    read_machine(info);
    read_checkpoints(info);
    read_contents(info, found.plan);
    look_at_files(info, found.plan);
    read_cached(info);
    read_archive_kind(info);
    info.durability = durability_of(info);
    info.why_on_disk = why_on_disk(info);
    predict_opening(found, info);
    return info;
}

} // namespace chainbase::inspect
