#include <tools/inspect/memory/state_growth.hpp>

namespace chainbase::inspect {

growth_meter::figures growth_meter::figures::of(const measured& memory,
                                                std::uint64_t objects) noexcept {
    const usage& bytes = memory.bytes;
    return {objects, bytes.header + bytes.links + bytes.values, memory.file_bytes};
}

growth_meter::moment growth_meter::moment_of(const state_report& found, clock::time_point when) {
    moment now{when, {}, {}};
    std::uint64_t objects = 0;
    for (const type_report& type : found.types) {
        now.types[type.name] = figures::of(type.total(), type.objects);
        objects += type.objects;
    }
    now.whole = figures::of(found.total(), objects);
    return now;
}

state_growth::part growth_meter::per_minute(const std::string& name, const figures& from,
                                            const figures& to, double minutes) {
    const auto rate = [minutes](std::uint64_t first, std::uint64_t last) {
        return (static_cast<double>(last) - static_cast<double>(first)) / minutes;
    };
    return {name, rate(from.objects, to.objects), rate(from.used_bytes, to.used_bytes),
            rate(from.file_bytes, to.file_bytes)};
}

state_growth growth_meter::add(const state_report& found, clock::time_point when) {
    moments_.push_back(moment_of(found, when));
    while (moments_.size() > 2 && moments_[1].when + span <= when)
        moments_.pop_front();
    const moment& first = moments_.front();
    const moment& last = moments_.back();
    state_growth growth;
    growth.seconds = std::chrono::duration<double>(last.when - first.when).count();
    const double minutes = growth.seconds > 0 ? growth.seconds / 60 : 1; // nothing changed in none
    growth.whole = per_minute("total", first.whole, last.whole, minutes);
    for (const type_report& type : found.types) {
        const figures& now = last.types.at(type.name);
        const auto before = first.types.find(type.name);
        growth.types.push_back(per_minute(
            type.name, before == first.types.end() ? now : before->second, now, minutes));
    }
    return growth;
}

} // namespace chainbase::inspect
