#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/segment/log_witness.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <pool_allocator/base/boot_id.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <undo/undo_log.hpp>

#include <boost/describe.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;

BOOST_DESCRIBE_ENUM(segment_condition, unknown, closed, writer_died, machine_restarted,
                    copied_while_open, segment_lost)
BOOST_DESCRIBE_ENUM(opening_way, attach, roll_back, restore, create, refuse)

std::string to_string(segment_condition what) {
    return boost::describe::enum_to_string(what, "unknown");
}

std::string to_string(opening_way what) {
    return boost::describe::enum_to_string(what, "unknown");
}

namespace {

using header_file = opening_facts::header_file;
using way = opening_way;
using error_kind = opening_plan::error_kind;

/// No folder, an empty one, or one left by an interrupted creation.
bool is_free(const fs::path& state) {
    if (!fs::exists(state)) return true;
    if (!fs::is_directory(state)) return false;
    return std::ranges::all_of(names_in(state), [](const std::string& name) {
        return name == "lock" || name == "readers" || name == "segment.new" ||
               name == "segment.json.new";
    });
}

/// The log's sequence; the greatest value if the log cannot be read, which is reported elsewhere.
std::uint64_t sequence_in(const fs::path& log) {
    std::uint64_t sequence = std::numeric_limits<std::uint64_t>::max();
    const file_descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about{};
    if (::fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode)) return sequence;
    const std::uint64_t at = sizeof(window_header) + offsetof(log_words, sequence);
    const auto bytes = std::as_writable_bytes(std::span(&sequence, 1));
    if (read_at(file, log, at, bytes) < bytes.size())
        sequence = std::numeric_limits<std::uint64_t>::max();
    return sequence;
}

void read_header(opening_facts& to, const fs::path& file) {
    const file_identity own = file_identity::of(open_private(file, file_use::read), file);
    const std::uint64_t remembered = log_witness::sequence_of(own); // read first: it only rises
    const std::string content = read_file(file);
    to.header_bytes = content.size();
    if (!detail::has_magic(content)) {
        to.header_is = header_file::foreign;
        return;
    }
    to.header_is = header_file::damaged;
    segment_header found;
    if (content.size() < segment_header::page_bytes) return;
    std::memcpy(&found, content.data(), sizeof found);
    to.use(found, own);
    to.is_put_back = sequence_in(file.parent_path() / "undo_log") < remembered;
}

} // namespace

opening_facts opening_facts::read(const fs::path& state, const segment_place& place, disk& on,
                                  bool writing) {
    opening_facts found;
    found.state = state;
    found.segment = place.folder();
    found.is_in_memory = place.is_in_memory();
    found.why_foreign = place.why_foreign();
    found.is_file = fs::exists(state) && !fs::is_directory(state);
    found.is_vacant = is_free(state);
    found.has_lock = fs::exists(fs::symlink_status(state / "lock"));
    found.has_segment = fs::exists(place.folder());
    if (detail::is_set_aside(place)) found.former = detail::former_segment(place);
    found.has_checkpoint = chainbase::has_checkpoint(on, state / "checkpoint");
    if (!found.why_foreign.empty()) return found;
    const fs::path& folder = found.former.empty() ? found.segment : found.former;
    if (!fs::exists(folder / "header")) return found;
    private_folder(state, writing).require_same_owner({folder, writing});
    read_header(found, folder / "header");
    return found;
}

void opening_facts::use(const segment_header& found, const file_identity& file) {
    header_bytes = segment_header::page_bytes;
    if (!detail::is_whole(found)) {
        header_is = header_file::damaged;
        return;
    }
    header_is = header_file::whole;
    header = found;
    is_of_this_boot = detail::boot_of(found) == boot_id();
    is_a_copy = found.file != file;
}

namespace {

opening_plan refused(error_kind kind, std::string code, std::string why, std::string message) {
    opening_plan plan;
    plan.code = std::move(code);
    plan.why = std::move(why);
    plan.kind = kind;
    plan.message = std::move(message);
    return plan;
}

opening_plan damaged(std::string code, std::string why, std::string message) {
    return refused(error_kind::damaged, std::move(code), std::move(why), std::move(message));
}

std::string header_of(const opening_facts& found) {
    return (found.segment / "header").string();
}

constexpr const char* or_replay = "restore it from a copy, or replay into a new folder";

std::string ways_out(const opening_facts& found) {
    return found.has_checkpoint ? or_replay + or_restore(found.segment) : or_replay;
}

/// The choices without segment and checkpoint.
std::string choices(const opening_facts& found, segment_condition condition) {
    if (condition == segment_condition::machine_restarted)
        return ". Nothing was changed. Choose: (1) put a copy of the folder in its place; (2) "
               "move it away and replay the block log into a new folder; (3) keep it to examine "
               "it; its archive is still valid";
    if (condition == segment_condition::copied_while_open)
        return ". Nothing was changed. Choose: (1) open the state that it is a copy of, close it, "
               "and copy it again; (2) if no writer had it open while it was copied, take it as it "
               "is: `chainbase-inspect repair --from copy --yes " +
               quoted(found.state) + "`; (3) replay the block log into a new folder";
    return ". Nothing was changed. Choose: (1) replay the block log into a new folder; (2) "
           "remove " +
           (found.state / "segment.json").string() + ", to begin anew in this one";
}

opening_plan plan_without_segment(const opening_facts& found, segment_condition condition,
                                  std::string why) {
    opening_plan plan;
    plan.condition = condition;
    plan.code = to_string(condition);
    plan.why = std::move(why);
    if (found.has_checkpoint) {
        plan.does = way::restore;
        return plan;
    }
    plan.kind = error_kind::unclean;
    plan.message = found.state.string() + ": " + plan.why + ", and the state has no checkpoint" +
                   choices(found, condition);
    return plan;
}

opening_plan plan_without_state(const opening_facts& found) {
    if (found.is_file)
        return refused(error_kind::format, opening_plan::no_state, "there is no state",
                       found.state.string() +
                           ": is not a folder, which a state is; name another one");
    if (!found.is_vacant)
        return refused(error_kind::format, opening_plan::no_state, "there is no state",
                       found.state.string() +
                           ": the folder is not empty and holds no chainbase state; name another "
                           "folder");
    opening_plan plan;
    plan.does = way::create;
    plan.why = "the folder holds only what an interrupted creation left";
    return plan;
}

opening_plan plan_of_unusable_header(const opening_facts& found) {
    const std::string file = header_of(found);
    if (found.header_is == header_file::missing) {
        if (!found.has_lock) return plan_without_state(found);
        return damaged("header_missing", "the segment has no header",
                       file + ": missing; " + ways_out(found));
    }
    if (found.header_is == header_file::foreign)
        return refused(error_kind::format, "header_damaged", "the segment's header is damaged",
                       file + ": offset 0: not the header of a chainbase state; check the path, or "
                              "name another folder");
    const bool is_cut = found.header_bytes < segment_header::page_bytes;
    const std::string what = is_cut
                                 ? ": truncated to " + std::to_string(found.header_bytes) + " of " +
                                       std::to_string(segment_header::page_bytes) + " bytes; "
                                 : std::string(": offset 16: the checksum does not match; ");
    return damaged("header_damaged", "the segment's header is damaged",
                   file + what + ways_out(found));
}

opening_plan plan_of_other_format(const opening_facts& found) {
    return refused(error_kind::format, "other_format", "the segment has another format",
                   header_of(found) + ": format " + std::to_string(found.header->format) +
                       ", this program reads " + std::to_string(segment_header::current_format) +
                       "; open it with the program that wrote it, or replay into a new folder");
}

/// The state was closed without waiting for storage, and no checkpoint has the same content.
opening_plan plan_of_unsynced(const opening_facts& found) {
    opening_plan plan = refused(
        error_kind::unclean, "not_on_storage", "it is not known whether the segment is whole",
        found.state.string() +
            ": was closed without waiting for storage (open_options::sync), and the machine "
            "restarted since, so it is not known whether it is whole. Nothing was changed. "
            "Replay the block log into a new folder" +
            (found.has_checkpoint ? or_restore(found.segment) : ""));
    plan.condition = segment_condition::machine_restarted;
    return plan;
}

opening_plan plan_of_usable_segment(const opening_facts& found) {
    const bool is_closed = found.header->clean == 1;
    opening_plan plan;
    if (found.header->clean > 1) {
        plan =
            damaged("header_damaged", "the segment's header is damaged",
                    header_of(found) + ": offset 36: neither closed nor open; " + ways_out(found));
        plan.condition = segment_condition::writer_died;
        return plan;
    }
    plan.does = is_closed ? way::attach : way::roll_back;
    plan.condition = is_closed ? segment_condition::closed : segment_condition::writer_died;
    plan.code = is_closed ? "" : "writer_died";
    plan.why = is_closed ? "it was closed properly" : "the last writer died";
    return plan;
}

opening_plan plan_of_whole_header(const opening_facts& found) {
    const segment_header& header = *found.header;
    const bool is_on_storage = header.clean == 1 && header.synced == 1;
    if (found.is_of_this_boot && header.clean == 0) {
        constexpr const char* of_when = "a copy that was made while the state was open";
        if (found.is_a_copy)
            return plan_without_segment(found, segment_condition::copied_while_open,
                                        fmt::format("its segment is {}", of_when));
        if (found.is_put_back)
            return plan_without_segment(
                found, segment_condition::copied_while_open,
                fmt::format("its segment was put back from {}, or its file system lost pages",
                            of_when));
    }
    if (found.is_of_this_boot || is_on_storage) return plan_of_usable_segment(found);
    if (header.clean == 1 && header.generation == 0) return plan_of_unsynced(found);
    return plan_without_segment(found, segment_condition::machine_restarted,
                                header.clean == 1 ? "the machine restarted after it was closed"
                                                  : "the machine restarted while it was open");
}

opening_plan plan_without_lock(const opening_facts& found, segment_condition condition) {
    const fs::path lock = found.state / "lock";
    opening_plan plan = damaged("lock_missing", "the file `lock` is missing",
                                lock.string() +
                                    ": missing; if no process has the state open, make an empty "
                                    "file: `install -m 600 /dev/null " +
                                    quoted(lock) + "`");
    plan.condition = condition;
    return plan;
}

} // namespace

opening_plan opening_plan::of(const opening_facts& found) {
    using condition = segment_condition;
    if (!found.why_foreign.empty())
        return plan_without_segment(found, condition::segment_lost, found.why_foreign);
    if (!found.has_segment && found.former.empty()) {
        if (found.is_in_memory)
            return plan_without_segment(found, condition::segment_lost,
                                        found.segment.string() + " is gone");
        if (found.has_checkpoint)
            return plan_without_segment(found, condition::segment_lost, "its segment is missing");
        return plan_without_state(found);
    }
    if (found.header_is != header_file::whole) return plan_of_unusable_header(found);
    if (found.header->format != segment_header::current_format) return plan_of_other_format(found);
    opening_plan plan = plan_of_whole_header(found);
    return found.has_lock ? plan : plan_without_lock(found, plan.condition);
}

void opening_plan::refuse() const {
    if (kind == error_kind::format) throw format_error(message);
    if (kind == error_kind::damaged) throw damaged_error(message);
    throw unclean_error(message);
}

std::string or_restore(const fs::path& segment) {
    return "; or move " + segment.string() +
           " away and open the state again, which restores its last checkpoint: `mv -- " +
           quoted(segment) + " " + quoted(fs::path(segment.string() + ".old")) + "`";
}

bool has_checkpoint(disk& on, const fs::path& folder) {
    return on.exists(folder / "published.0") || on.exists(folder / "published.1");
}

} // namespace chainbase
