#include <chainbase/check/state_check.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace chainbase::check {

state_check::state_check(std::filesystem::path state)
    : mapped_(std::move(state), report_), buffers_(mapped_) {
    const stopwatch timed(report_);
    report_.name = mapped_.state().string();
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

std::vector<survivors> state_check::survived() const {
    std::vector<survivors> all;
    for (const type_check& type : types_) {
        survivors one{type.schema().name, 0, 0};
        if (const object_slots* objects = type.objects())
            one = {one.type, objects->live(), objects->whole()};
        all.push_back(std::move(one));
    }
    return all;
}

} // namespace chainbase::check
