#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <tools/inspect/maintenance/rebuild.hpp>
#include <tools/inspect/maintenance/repair_plan.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace {

void find_objects(repair_plan& to, const check::state_check& state,
                  const std::vector<rescued_type>& rescued) {
    if (state.is_mapped() && !state.knows_types()) {
        to.why_no_objects = "segment/catalogue.json, which describes the objects, cannot be read";
        return;
    }
    if (!state.is_mapped() || !state.log().is_known) {
        to.why_no_objects = "the header of the segment or its log cannot be read";
        return;
    }
    if (is_lost(state.condition())) {
        to.why_no_objects = state.why_lost();
        return;
    }
    for (const std::string& name : lost_types(state))
        to.why_no_objects = "nothing of type " + name + " can be read";
    repair_plan::objects_found found;
    for (const rescued_type& one : rescued) {
        if (!one.why_no_orders.empty())
            to.why_no_objects =
                fmt::format("{}: the order of a key that a function computes cannot "
                            "be read: {}",
                            one.from->schema().name, one.why_no_orders);
        found.kept += one.slots.size();
        found.lost += one.lost.size();
        found.doubtful += one.doubtful.size();
    }
    found.no_longer_undone = state.log().sessions;
    found.revision = state.log().revision;
    if (to.why_no_objects.empty()) to.objects = found;
}

void find_checkpoint(repair_plan& to, const check::state_check& state) {
    disk& on = disk::of_system();
    if (!has_checkpoint(on, state.state() / "checkpoint")) {
        to.why_no_checkpoint = "there is none";
        return;
    }
    const auto found = check::check_checkpoints(on, state.state());
    to.checkpoint_findings = found.report.found_in_all();
    to.checkpoint_damage = first_findings(found.report, 3);
    for (std::string& one : found.report.refused_in_all())
        to.refused.push_back(std::move(one));
    const check::checked_publication* best = found.restorable();
    if (!best) {
        to.why_no_checkpoint = "none is whole";
        return;
    }
    const bool is_newest = best == &found.publications.front();
    const auto blocks = static_cast<std::int64_t>(is_newest ? found.blocks : 0);
    to.checkpoint = repair_plan::checkpoint_found{best->generation, best->revision + blocks};
}

repair_plan::way best_of(const repair_plan& plan) {
    using way = repair_plan::way;
    if (plan.findings == 0)
        return plan.checkpoint_findings == 0 ? way::nothing
               : plan.objects                ? way::checkpoints
                                             : way::none;
    const bool loses_nothing =
        plan.checkpoint && plan.objects && plan.checkpoint->revision >= plan.objects->revision;
    if (loses_nothing) return way::checkpoint;
    if (plan.objects) return way::objects;
    return plan.checkpoint ? way::checkpoint : way::none;
}

} // namespace

repair_plan repair_plan::of(const check::state_check& state,
                            const std::vector<rescued_type>& rescued) {
    repair_plan plan;
    plan.findings = state.report().found_in_all();
    plan.refused = state.report().refused_in_all();
    find_objects(plan, state, rescued);
    find_checkpoint(plan, state);
    plan.is_copied = state.condition() == segment_condition::copied_while_open;
    plan.best = best_of(plan);
    return plan;
}

std::string to_string(repair_plan::way what) {
    constexpr const char* names[] = {"nothing",     "objects", "checkpoint",
                                     "checkpoints", "none",    "copy"};
    return names[static_cast<std::size_t>(what)];
}

// The JSON members of each option, in order.
BOOST_DESCRIBE_STRUCT(repair_plan::objects_found, (),
                      (revision, kept, lost, doubtful, no_longer_undone))
BOOST_DESCRIBE_STRUCT(repair_plan::checkpoint_found, (), (generation, revision))

namespace {

using way = repair_plan::way;

struct repair_call : state_call {
    std::string from;
    bool is_meant = false;
};

/// What a call found and did.
struct outcome {
    repair_plan plan;
    way chosen = way::nothing;
    std::string findings;
    std::filesystem::path kept_as; ///< new name of the damaged part; empty: nothing was damaged
    bool is_done = false;
};

way chosen_way(const repair_plan& plan, const repair_call& asked) {
    if (plan.findings == 0 || asked.from.empty())
        return plan.best; // the segment is sound, or no option was requested
    if (asked.from == "objects") {
        if (plan.objects) return way::objects;
        throw usage_error("--from objects: " + plan.why_no_objects);
    }
    if (plan.checkpoint) return way::checkpoint;
    throw usage_error("--from checkpoint: " + plan.why_no_checkpoint);
}

void copy_rescued(bulk_load::new_state& to, const std::vector<rescued_type>& types,
                  const rows::buffer_source& buffers, std::int64_t revision,
                  const std::filesystem::path& state) {
    progress shown("copying", "objects");
    std::uint64_t all = 0, done = 0;
    for (const rescued_type& type : types)
        all += type.slots.size();
    for (const rescued_type& type : types) {
        bulk_load::object_loader loader = to.add_type(type.from->schema());
        for (const slot_number slot : type.slots) {
            shown.advance(done++, all);
            loader.add(type.from->objects()->value(slot), buffers);
        }
        finish(loader, type.from->next_id(), type.orders, state);
    }
    to.close(revision);
}

/// In the order of registration, which is the order of their windows.
std::vector<rescued_type> in_order(std::vector<rescued_type> types) {
    std::ranges::sort(types, {}, [](const rescued_type& one) { return one.from; });
    return types;
}

/// Renames a part of a state that no process has open to `kept`.
void set_aside(const std::filesystem::path& state, const std::filesystem::path& part,
               const std::filesystem::path& kept) {
    const file_lock lock(state / "lock", true);
    std::filesystem::rename(part, kept);
    sync_folder(kept.parent_path());
}

/// Sets the segment aside and restores the checkpoint by opening. Returns the segment's new path.
std::filesystem::path restore_checkpoint(const std::filesystem::path& state) {
    std::filesystem::path kept = place_for_damaged_segment(state);
    set_aside(state, segment_place(std::filesystem::absolute(state)).folder(), kept);
    open_options how;
    how.advise = false;
    segment(state, how).close();
    return kept;
}

/// Sets the checkpoints aside and makes one of the segment. Returns their new path.
std::filesystem::path renew_checkpoints(const std::filesystem::path& state) {
    const std::filesystem::path at = std::filesystem::absolute(state);
    std::filesystem::path kept = unused_name(at / "checkpoint.damaged");
    set_aside(at, at / "checkpoint", kept);
    make_checkpoint(state);
    return kept;
}

/// Adopts a segment that was copied while it was open.
outcome claim_copy(const repair_call& asked) {
    const file_lock lock(std::filesystem::path(asked.state) / "lock", false);
    const segment_place place(asked.state);
    const auto found =
        opening_facts::read(asked.state, place, disk::of_system(), /*writing=*/asked.is_meant);
    if (opening_plan::of(found).condition != segment_condition::copied_while_open)
        throw usage_error("--from copy: the segment is not a copy that was made while it was open");
    outcome done;
    done.chosen = way::copy;
    if (!asked.is_meant) return done;
    const std::filesystem::path header = place.folder() / "header";
    detail::claim_header(open_private(header, file_use::write), header);
    done.is_done = true;
    return done;
}

outcome look_and_mend(const repair_call& asked) {
    if (asked.from == "copy") return claim_copy(asked);
    const catch_interruption interruption;
    std::optional<bulk_load::segment_replacement> replacement;
    if (asked.is_meant) replacement.emplace(asked.state);
    std::optional<progress> shown("checking");
    std::optional<check::state_check> state(std::in_place, asked.state, shown->as_callback());
    shown.reset();
    std::vector<rescued_type> rescued;
    if (state->is_mapped()) rescued = rescue(*state);
    outcome done{repair_plan::of(*state, rescued),
                 way::nothing,
                 first_findings(state->report(), 10),
                 {},
                 false};
    done.chosen = chosen_way(done.plan, asked);
    if (!asked.is_meant) return done;
    if (done.chosen == way::objects) {
        bulk_load::new_state made(replacement->folder(), replacement->limits());
        copy_rescued(made, in_order(rescued), state->buffers(), state->log().revision, asked.state);
    }
    rescued.clear();
    state.reset(); // releases the lock
    if (done.chosen == way::objects) {
        require_sound(replacement->folder());
        done.kept_as = place_for_damaged_segment(asked.state);
        replacement->replace(done.kept_as);
        renew_checkpoint(asked.state);
    } else if (done.chosen == way::checkpoint) {
        done.kept_as = restore_checkpoint(asked.state);
        require_sound_checkpoint(asked.state, done.kept_as);
    } else if (done.chosen == way::checkpoints) {
        done.kept_as = renew_checkpoints(asked.state);
    }
    done.is_done = !done.kept_as.empty();
    return done;
}

std::string plan_text(const repair_plan& plan) {
    std::string text;
    if (plan.objects) {
        text += fmt::format("  --from objects     revision {}: {} objects are kept, {} lost, {} of "
                            "those kept may have wrong bytes\n",
                            plan.objects->revision, grouped(plan.objects->kept),
                            grouped(plan.objects->lost), grouped(plan.objects->doubtful));
        if (plan.objects->no_longer_undone != 0)
            text += fmt::format("                     {} block(s) can then no longer be undone\n",
                                plan.objects->no_longer_undone);
    } else {
        text += "  --from objects     impossible: " + plan.why_no_objects + "\n";
    }
    if (plan.checkpoint)
        text += fmt::format("  --from checkpoint  revision {}: checkpoint {} and the blocks after "
                            "it\n",
                            plan.checkpoint->revision, plan.checkpoint->generation);
    else
        text += "  --from checkpoint  impossible: " + plan.why_no_checkpoint + "\n";
    if (plan.is_copied)
        text += "  --from copy        the segment as it is; only if no writer had it open while it "
                "was copied\n";
    return text;
}

std::string claim_text(const repair_call& asked, const outcome& done) {
    return fmt::format("{}: {}\n", asked.state,
                       done.is_done ? "the next opening takes the segment as it is; "
                                      "chainbase-inspect check can check it before"
                                    : "nothing was changed; --yes takes the segment as it is");
}

std::string repair_text(const repair_call& asked, const outcome& done) {
    if (done.chosen == way::copy) return claim_text(asked, done);
    std::string refused;
    for (const std::string& one : done.plan.refused)
        refused += "refused: " + one + "\n";
    if (done.chosen == way::nothing)
        return refused + asked.state + ": nothing in the segment and the checkpoints is damaged\n";
    std::string text =
        refused + fmt::format("{}: {} findings in the segment, {} in the checkpoints\n{}{}\n",
                              asked.state, grouped(done.plan.findings),
                              grouped(done.plan.checkpoint_findings), done.findings,
                              done.plan.checkpoint_damage);
    if (done.plan.findings != 0) text += plan_text(done.plan);
    if (!done.kept_as.empty())
        text += fmt::format("\nrepaired from {}; what was damaged is kept as {}\n",
                            to_string(done.chosen), done.kept_as.string());
    else if (done.chosen == way::none)
        text += "\nno repair is possible: put a copy of the state in its place, or replay into a "
                "new folder\n";
    else
        text +=
            fmt::format("\nnothing was changed; --yes repairs from {}\n", to_string(done.chosen));
    return text;
}

std::string repair_json(const repair_call& asked, const outcome& done) {
    return line_of({{"schema_version", 1},
                    {"state", asked.state},
                    {"findings", done.plan.findings},
                    {"checkpoint_findings", done.plan.checkpoint_findings},
                    {"refused", done.plan.refused},
                    {"way", to_string(done.chosen)},
                    {"repaired", done.is_done},
                    {"kept_as", text_or_null(done.kept_as.string())},
                    {"objects", json_of(done.plan.objects)},
                    {"why_no_objects", done.plan.why_no_objects},
                    {"checkpoint", json_of(done.plan.checkpoint)},
                    {"why_no_checkpoint", done.plan.why_no_checkpoint}}) +
           "\n";
}

exit_code run_repair(const repair_call& asked) {
    const outcome done = look_and_mend(asked);
    print_or_throw(asked.json ? repair_json(asked, done) : repair_text(asked, done));
    for (const std::string& one : done.plan.refused)
        spdlog::error(one);
    if (done.chosen != way::nothing && !done.is_done) return exit_code::damaged;
    return done.plan.refused.empty() ? exit_code::done : exit_code::failed;
}

} // namespace

void declare_repair(command& verb) {
    const auto asked = declare_look<repair_call>(verb, run_repair);
    verb.add_flag("--yes", asked->is_meant,
                  "Repair the state; the damaged files are kept beside it");
    verb.add_option(
            "--from", asked->from,
            "Repair from what the segment still holds, from the checkpoint, or from a copied "
            "segment as it is; default: what loses least")
        .one_of({"objects", "checkpoint", "copy"});
    verb.add_flag("--json", asked->json, "Print one JSON object instead of text");
}

} // namespace chainbase::inspect
