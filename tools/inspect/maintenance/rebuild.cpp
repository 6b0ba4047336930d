#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/maintenance/rebuild.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

namespace {

void append_findings(std::string& to, const check::part_report& part, std::size_t& left) {
    for (const check::finding& one : part.findings) {
        if (left == 0) return;
        --left;
        to += fmt::format("{}{}: {}\n", one.file,
                          one.offset ? fmt::format(", offset {}", *one.offset) : "", one.what);
    }
    for (const check::part_report& below : part.parts)
        append_findings(to, below, left);
}

} // namespace

std::string first_findings(const check::part_report& report, std::size_t most) {
    std::string text;
    append_findings(text, report, most);
    return text;
}

void finish(bulk_load::object_loader& to, std::uint32_t next_id,
            const bulk_load::key_orders& orders, const std::filesystem::path& state) {
    try {
        to.finish(next_id, orders);
    } catch (const damaged_error& problem) {
        throw damaged_error(state.string() + ": " + problem.what() +
                            ", so nothing was changed; run chainbase-inspect check");
    }
}

void require_at_rest(const state_report& state) {
    if (state.condition == condition::writer_running)
        throw locked_error(state.state.string() + ": process " + state.writer +
                           " has it open for writing; stop it first");
    if (state.condition == condition::writer_died)
        throw unclean_error(state.state.string() +
                            ": its last writer died; open it for writing once, which "
                            "rolls it back to the last completed block");
}

void require_sound(const std::filesystem::path& made) {
    const check::state_check found(made);
    if (found.report().found_in_all() == 0) return;
    throw damaged_error(
        made.string() + ": the new segment is not sound, so nothing was changed:\n" +
        first_findings(found.report(), 3) + "run chainbase-inspect check on the state");
}

void require_sound_checkpoint(const std::filesystem::path& state,
                              const std::filesystem::path& kept) {
    const check::state_check found(state);
    if (found.report().found_in_all() == 0) return;
    throw damaged_error(state.string() +
                        ": its checkpoint was restored and is not sound either; the segment before "
                        "is kept as " +
                        kept.string() + ":\n" + first_findings(found.report(), 3) +
                        "run chainbase-inspect repair --from objects, or restore a backup");
}

void renew_checkpoint(const std::filesystem::path& state) {
    if (has_checkpoint(disk::of_system(), state / "checkpoint")) make_checkpoint(state);
}

void make_checkpoint(const std::filesystem::path& state) {
    open_options how;
    how.advise = false;
    segment open(state, how);
    open.make_checkpoint();
    open.close();
}

std::filesystem::path unused_name(const std::filesystem::path& begin) {
    for (int number = 1;; ++number) {
        std::filesystem::path name = begin.string() + "." + std::to_string(number);
        if (!std::filesystem::exists(std::filesystem::symlink_status(name))) return name;
    }
}

std::filesystem::path place_for_damaged_segment(const std::filesystem::path& state) {
    const segment_place place(std::filesystem::absolute(state));
    return unused_name(place.is_in_memory() ? place.home().string() + ".damaged"
                                            : (place.home() / "segment.damaged").string());
}

} // namespace chainbase::inspect
