#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state/state_info.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <set>
#include <system_error>

namespace chainbase::inspect {

// The JSON members of parts of the report, in order.
BOOST_DESCRIBE_STRUCT(log_heading, (), (revision, irreversible_revision, sessions, bytes_in_use))
BOOST_DESCRIBE_STRUCT(trouble, (), (code, what))
BOOST_DESCRIBE_STRUCT(mapped_pages, (),
                      (mappings, resident, shmem_pmd_mapped, file_pmd_mapped, anon_huge_pages))

namespace {

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
            {"why_on_disk", text_or_null(info.why_on_disk)},
            {"file_system", text_or_null(info.segment_mount.type)},
            {"mount", text_or_null(info.segment_mount.point.string())},
            {"state_file_system", text_or_null(info.state_mount.type)}};
}

json memory_json(const state_info& info) {
    if (!info.cached) return nullptr;
    return {{"resident", json_of(info.cached->resident)},
            {"dirty", json_of(info.cached->dirty)},
            {"missing", json_of(info.cached->missing)}};
}

std::string or_unknown(const std::string& text) {
    return text.empty() ? "unknown" : text;
}

std::string header_text(const state_info& info) {
    if (!info.header) return "header     unknown\n";
    const segment_header& header = *info.header;
    return fmt::format("header     format {}, {} windows of at most {}; {}{}\n"
                       "boot       {} ({})\n",
                       header.format, header.windows, bytes_in_words(header.window_bytes),
                       header.clean == 1 ? "closed properly" : "open",
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
    return fmt::format("segment    {}: in {}, {} mounted at {}{}{}\n", info.segment.string(),
                       info.is_in_memory ? "a folder of memory" : "the state's folder",
                       or_unknown(info.segment_mount.type), info.segment_mount.point.string(),
                       info.is_lost_with_the_machine ? "; lost when the machine stops" : "",
                       info.why_on_disk.empty() ? "" : "; " + info.why_on_disk);
}

std::string memory_text(const state_info& info) {
    if (!info.cached) return "memory     unknown\n";
    const auto known = [](const std::optional<std::uint64_t>& bytes) {
        return bytes ? bytes_in_words(*bytes) : "unknown";
    };
    return fmt::format("memory     {} of the segment in memory, {} missing; {} dirty\n",
                       known(info.cached->resident), known(info.cached->missing),
                       known(info.cached->dirty));
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
        text +=
            fmt::format("checkpoint {} of revision {}, irreversible {}; {} old, {}{}; "
                        "inspect it as {}\n",
                        one.generation, one.revision, one.irreversible_revision,
                        duration_in_words(static_cast<double>(std::time(nullptr) - one.time)),
                        bytes_in_words(one.bytes), one.redo_log ? "; a redo log follows it" : "",
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
    return fmt::format("condition  {}\nopening    would {}: {}\n", info.condition,
                       to_string(info.next), info.why);
}

std::string rest_text(const state_info& info) {
    return fmt::format("durability {}\narchive    {}\nfolder     owner {}, mode {}; {}\n",
                       or_unknown(info.durability), info.archive.empty() ? "none" : info.archive,
                       or_unknown(info.owner), or_unknown(info.mode),
                       info.readers_group.empty()
                           ? "no group may read"
                           : "the group " + info.readers_group + " may read");
}

/// Of the states in a folder and two levels below it, in order of their names.
std::vector<std::filesystem::path> states_below(const std::filesystem::path& folder, int levels) {
    namespace fs = std::filesystem;
    std::vector<fs::path> found;
    std::error_code unreadable;
    for (const fs::directory_entry& one : fs::directory_iterator(folder, unreadable)) {
        if (one.is_symlink(unreadable) || !one.is_directory(unreadable)) continue;
        if (fs::exists(one.path() / "lock") && is_state(one.path()))
            found.push_back(one.path());
        else if (levels > 1)
            std::ranges::move(states_below(one.path(), levels - 1), std::back_inserter(found));
    }
    std::ranges::sort(found);
    return found;
}

/// What is wrong with the archive of a state whose segment the next opening would take; empty if
/// nothing is.
std::string archive_finding(const state_info& info) {
    if (info.next != opening_way::attach && info.next != opening_way::roll_back) return {};
    try {
        const archive_contents found = read_archive_contents(info.state);
        return found.findings.empty() ? "" : found.folder.string() + ": " + found.findings.front();
    } catch (const error&) { // there is none, and the state needs none
        return {};
    }
}

/// Where a state has to be opened by a program that writes it.
constexpr const char* by_starting = "start the program that writes it again (it need not do more "
                                    "than open it)";

} // namespace

std::string next_step(const state_info& info) {
    if (info.writer.is_alive)
        return fmt::format("Nothing is to be done: process {} writes it, and everybody may read.",
                           info.writer.process);
    if (const auto by = superseded_by(info.state))
        return fmt::format("{} took its place, so nobody writes it any more: go on with that one.",
                           *by);
    const std::string where =
        info.log ? fmt::format("revision {}", info.log->taken_back.revision) : "its last block";
    switch (info.next) {
    case opening_way::attach:
        if (!info.troubles.empty()) break;
        return fmt::format("Nothing is to be done: it is closed, and goes on at {}.", where);
    case opening_way::create:
        return "Nothing is to be done: it will be made when a program opens it.";
    case opening_way::roll_back:
        return fmt::format("Its writer died: {}, and it goes on at {}.", by_starting, where);
    case opening_way::restore:
        return fmt::format("The segment is lost or not to be trusted: {}, and it is restored from "
                           "checkpoint {}, revision {}{}.",
                           by_starting, info.checkpoints.front().generation,
                           info.checkpoints.front().revision,
                           info.checkpoints.front().redo_log ? " and later blocks" : "");
    case opening_way::refuse:
        break;
    }
    return info.troubles.empty() ? info.why : info.troubles.front().what;
}

std::string as_text(const state_info& info) {
    std::string text = fmt::format("state      {}\n", info.state.string()) + opening_text(info) +
                       header_text(info) + log_text(info) + writer_text(info) + place_text(info) +
                       memory_text(info) + huge_pages_text(info) + checkpoints_text(info) +
                       rest_text(info) + schema_text(info);
    for (const trouble& one : info.troubles)
        text += fmt::format("\n{}: {}\n", one.code, one.what);
    return text;
}

std::string as_json(const state_info& info) {
    const bool is_writer_known = info.writer.process != 0;
    return lines_of({
        {"schema_version", 1},
        {"state", info.state.string()},
        {"condition", info.condition},
        {"next_opening", {{"does", to_string(info.next)}, {"why", info.why}}},
        {"troubles", json_of(info.troubles)},
        {"header", header_of(info)},
        {"log", info.log ? json_of(info.log->heading) : json(nullptr)},
        {"writer",
         {{"process", is_writer_known ? json(info.writer.process) : json(nullptr)},
          {"alive", info.writer.is_alive}}},
        {"readers", info.readers},
        {"place", place_of(info)},
        {"memory", memory_json(info)},
        {"huge_pages",
         {{"shmem_enabled", text_or_null(info.shmem_enabled)},
          {"mount_option", text_or_null(info.segment_mount.huge)},
          {"writer", json_of(info.pages)}}},
        {"schema", schema_json(info)},
        {"checkpoints", checkpoints_json(info)},
        {"durability", text_or_null(info.durability)},
        {"archive", text_or_null(info.archive)},
        {"permissions",
         {{"owner", info.owner},
          {"mode", info.mode},
          {"readers_group", text_or_null(info.readers_group)}}},
    });
}

void declare_info(command& verb) {
    declare_report(verb, "Print one JSON object instead of text", read_info);
}

namespace {

/// In the folders that this state and new ones may use.
std::vector<segment_place::orphan> orphans_around(const state_info& info) {
    std::set<std::filesystem::path> folders;
    const std::filesystem::path home = info.segment.parent_path();
    const auto add = [&](const std::filesystem::path& folder) {
        std::error_code missing;
        const auto found = std::filesystem::canonical(folder, missing);
        if (!missing) folders.insert(found);
    };
    add("/dev/shm");
    add(doctor::preferred_place(info.state).memory);
    if (info.is_in_memory) add(home.parent_path());
    std::vector<segment_place::orphan> all;
    for (const std::filesystem::path& folder : folders)
        for (segment_place::orphan& one : segment_place::orphans(folder))
            if (one.home != home) all.push_back(std::move(one)); // of a state that was renamed
    return all;
}

/// A segment in the folder of a state that has another one; empty without.
std::filesystem::path segment_beside(const state_info& info) {
    std::error_code unknown;
    std::filesystem::path folder = info.state / "segment";
    return info.is_in_memory && std::filesystem::exists(folder, unknown) ? folder : "";
}

std::string orphan_text(const segment_place::orphan& one) {
    const std::string made =
        one.state.empty()
            ? std::string("does not say for which state it is; one that is being made does not yet")
            : fmt::format("was made for {}, which has no segment there; if that state was renamed, "
                          "is on a disk that is not mounted, or in another container, leave it",
                          one.state.string());
    return fmt::format(
        "{} ({}) belongs to no state that is found: it {}; else remove it: rm -r -- {}\n",
        one.home.string(), bytes_in_words(one.bytes), made, quoted(one.home));
}

} // namespace

void declare_doctor(command& verb) {
    const auto asked = declare_look<state_call>(verb, [](const state_call& call) {
        const state_info info = read_info(call.state);
        const std::string archive = archive_finding(info);
        const std::string next = archive.empty() ? next_step(info) : archive;
        json orphans = json::array();
        std::string text = next + "\n";
        for (const segment_place::orphan& one : orphans_around(info)) {
            orphans.push_back({{"home", one.home.string()},
                               {"state", text_or_null(one.state.string())},
                               {"bytes", one.bytes}});
            text += orphan_text(one);
        }
        const std::filesystem::path beside = segment_beside(info);
        if (!beside.empty())
            text += fmt::format("{} is not the segment of this state, which is in {}: if it is not "
                                "needed any more, remove it: rm -r -- {}\n",
                                beside.string(), info.segment.string(), quoted(beside));
        const json all{{"schema_version", 1},
                       {"state", call.state},
                       {"next", next},
                       {"segment_beside", text_or_null(beside.string())},
                       {"orphans", std::move(orphans)}};
        print_or_throw(call.json ? lines_of(all) : text);
    });
    verb.add_flag("--json", asked->json, "Print one JSON object instead of text");
}

exit_code look_around(const std::filesystem::path& folder) {
    if (is_state(folder)) {
        print_or_throw(look_at(folder, [&] { return as_text(read_info(folder)); }));
        return exit_code::done;
    }
    const std::vector<std::filesystem::path> found = states_below(folder, 3);
    if (found.empty()) throw no_state_at(folder);
    text_table states({"state", "condition", "revision"});
    for (const std::filesystem::path& one : found)
        try {
            const state_info info = read_info(one);
            const std::string revision =
                info.log ? std::to_string(info.log->heading.revision) : "unknown";
            states.add({one.lexically_normal().string(), info.condition, revision});
        } catch (const std::exception&) {
            states.add({one.lexically_normal().string(), "not readable", "unknown"});
        }
    print_or_throw(states.text() +
                   "\n`chainbase-inspect info STATE` tells more of one of them, and "
                   "`chainbase-inspect --help` lists what else there is.\n");
    return exit_code::done;
}

} // namespace chainbase::inspect
