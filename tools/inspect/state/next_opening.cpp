#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/file_error.hpp>
#include <tools/inspect/state/next_opening.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

namespace {

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
    if (!found.is_same_state) return; // told already
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

/// Found by reading, and told already, but in the way of an opening all the same.
bool is_in_the_way(const trouble& one) {
    return one.code == "access" || one.code == "log_damaged" || one.code == "catalogue_damaged" ||
           one.code == "other_identity" || one.code == "checkpoint_format";
}

} // namespace

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

} // namespace chainbase::inspect
