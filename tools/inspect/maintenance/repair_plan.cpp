#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/maintenance/rebuild.hpp>
#include <tools/inspect/maintenance/repair_plan.hpp>

#include <fmt/format.h>

#include <utility>

namespace chainbase::inspect {

namespace {

void find_objects(repair_plan& to, const check::state_check& state,
                  const std::vector<rescued_type>& rescued) {
    if (state.is_mapped() && !state.knows_types()) {
        to.why_no_objects = "segment/catalogue.json cannot be read, and says what the objects are";
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
    found.undone = state.log().sessions;
    found.revision = state.log().revision;
    if (to.why_no_objects.empty()) to.objects = found;
}

void find_checkpoint(repair_plan& to, const check::state_check& state) {
    disk& on = disk::of_system();
    if (!check::has_checkpoint(on, state.state() / "checkpoint")) {
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
    plan.best = best_of(plan);
    return plan;
}

std::string to_string(repair_plan::way what) {
    switch (what) {
    case repair_plan::way::nothing:
        return "nothing";
    case repair_plan::way::objects:
        return "objects";
    case repair_plan::way::checkpoint:
        return "checkpoint";
    case repair_plan::way::checkpoints:
        return "checkpoints";
    case repair_plan::way::none:
        return "none";
    }
    return "unknown";
}

} // namespace chainbase::inspect
