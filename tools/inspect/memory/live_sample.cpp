#include <tools/inspect/memory/live_sample.hpp>

#include <algorithm>
#include <ratio>

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
    const moment& last = moments_.back();
    const auto minutes_since = [&](const moment& first) {
        const double minutes =
            std::chrono::duration<double, std::ratio<60>>(last.when - first.when).count();
        return minutes > 0 ? minutes : 1; // no time: no change
    };
    state_growth growth;
    growth.seconds = std::chrono::duration<double>(last.when - moments_.front().when).count();
    growth.whole =
        per_minute("total", moments_.front().whole, last.whole, minutes_since(moments_.front()));
    for (const type_report& type : found.types) {
        const auto has_it = [&](const moment& one) { return one.types.contains(type.name); };
        const moment& first = *std::ranges::find_if(moments_, has_it);
        growth.types.push_back(per_minute(type.name, first.types.at(type.name),
                                          last.types.at(type.name), minutes_since(first)));
    }
    return growth;
}

namespace {

std::uint64_t finds(const archive::published_statistics& of) {
    return of.figures.hits_in_archive.count + of.figures.misses.count;
}

/// Ids are assigned in order, including those of objects that were undone.
std::uint64_t objects_made(const state_report& state) {
    std::uint64_t sum = 0;
    for (const type_report& type : state.types)
        sum += type.next_id;
    return sum;
}

double increase(std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) : 0;
}

std::optional<double> increase(const std::optional<std::uint64_t>& from,
                               const std::optional<std::uint64_t>& to, double seconds) {
    if (!from || !to) return std::nullopt;
    return increase(*from, *to) / seconds;
}

void compare_disk(live_rates& to, const live_sample& earlier, const live_sample& later,
                  double seconds) {
    if (!earlier.disk || !later.disk) return;
    const process_disk& from = *earlier.disk;
    const process_disk& now = *later.disk;
    if (from.process != now.process || from.started != now.started) return;
    to.disk_read_per_second = increase(from.read_bytes, now.read_bytes, seconds);
    to.disk_written_per_second = increase(from.written_bytes, now.written_bytes, seconds);
    to.major_faults_per_second = increase(from.major_faults, now.major_faults, seconds);
}

} // namespace

std::vector<std::string> names_of_types(const state_report& state) {
    std::vector<std::string> names;
    for (const type_report& type : state.types)
        names.push_back(type.name);
    return names;
}

bool continues(const std::vector<std::string>& before, const std::vector<std::string>& now) {
    return before.size() <= now.size() && std::equal(before.begin(), before.end(), now.begin());
}

bool is_one_count(const live_sample& earlier, const live_sample& later) {
    return earlier.archive && later.archive && earlier.archive->process == later.archive->process &&
           earlier.archive->opened == later.archive->opened;
}

live_rates live_rates::between(const live_sample& earlier, const live_sample& later) {
    const double seconds = std::chrono::duration<double>(later.taken - earlier.taken).count();
    live_rates rates;
    if (seconds <= 0) return rates;
    rates.changes = increase(earlier.state.changes, later.state.changes) / seconds;
    rates.objects = increase(objects_made(earlier.state), objects_made(later.state)) / seconds;
    if (later.state.revision > earlier.state.revision)
        rates.revisions =
            static_cast<double>(later.state.revision - earlier.state.revision) / seconds;
    rates.growth = (static_cast<double>(later.state.total().file_bytes) -
                    static_cast<double>(earlier.state.total().file_bytes)) /
                   seconds;
    compare_disk(rates, earlier, later, seconds);
    if (!is_one_count(earlier, later)) return rates;
    rates.archive_finds = increase(finds(*earlier.archive), finds(*later.archive)) / seconds;
    rates.archive_rows =
        increase(earlier.archive->figures.rows_put, later.archive->figures.rows_put) / seconds;
    return rates;
}

live_sample live_sampler::take() {
    live_sample sample;
    sample.state = read_state(state_, patience, cached_);
    sample.time = std::chrono::system_clock::now();
    sample.taken = std::chrono::steady_clock::now();
    sample.locks = lock_report::read(state_);
    sample.archive = archive::statistics_page::look(state_ / "archive");
    const auto writer = static_cast<pid_t>(sample.locks.writer.process);
    if (sample.locks.writer.is_alive && has_open(writer, state_ / "lock"))
        sample.disk = process_disk::of(writer);
    return sample;
}

} // namespace chainbase::inspect
