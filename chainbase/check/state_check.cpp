#include <chainbase/check/state_check.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace chainbase::check {

state_check::state_check(std::filesystem::path state)
    : mapped_(std::move(state), report_), buffers_(mapped_) {
    const stopwatch timed(report_);
    report_.name = mapped_.state().string();
    if (mapped_.is_mapped()) check_types();
    if (is_lost(mapped_.condition())) check_what_is_restored();
}

void state_check::check_types() {
    for (const mapped_state::type& type : mapped_.types()) {
        part_report part;
        part.name = part.type = type.schema->name;
        types_.emplace_back(type, buffers_, part);
        report_.parts.push_back(std::move(part));
    }
    const bool knows_all = mapped_.is_complete() &&
                           std::all_of(types_.begin(), types_.end(), [](const type_check& type) {
                               return type.objects() != nullptr;
                           });
    const auto place = report_.parts.end() - static_cast<std::ptrdiff_t>(types_.size());
    report_.parts.insert(place, buffers_.finish(knows_all));
}

void state_check::check_what_is_restored() {
    const std::string choices = "; put a copy of the state's folder in its place, or move it away "
                                "and replay the block log into a new one";
    part_report part;
    part.name = "checkpoint";
    if (has_checkpoint(disk::of_system(), state() / "checkpoint")) {
        checkpoints_ = check_checkpoints(disk::of_system(), state());
        part = checkpoints_->report;
        if (!checkpoints_->restorable() && part.found != 0)
            part.add(
                {"checkpoint",
                 {},
                 mapped_.why_lost() + ", and no checkpoint is whole, so opening fails" + choices});
    } else {
        part.add({"checkpoint",
                  {},
                  mapped_.why_lost() +
                      ", and there is no checkpoint, so opening refuses the state" + choices});
    }
    report_.parts.push_back(std::move(part));
}

std::vector<survivors> state_check::survived() const {
    std::vector<survivors> all;
    for (const type_check& type : types_) {
        survivors one{type.schema().name};
        if (const object_slots* objects = type.objects())
            one = {one.type, objects->live(), objects->whole(), true};
        all.push_back(std::move(one));
    }
    return all;
}

} // namespace chainbase::check
