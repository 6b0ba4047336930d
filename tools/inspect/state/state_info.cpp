#include <archive/open_archive.hpp>
#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <tools/inspect/memory/segment_files.hpp>
#include <tools/inspect/state/next_opening.hpp>
#include <tools/inspect/state/state_info.hpp>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

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
    to.huge_of_memory = found.shmem_enabled;
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
