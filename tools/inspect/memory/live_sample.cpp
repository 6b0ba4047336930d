#include <tools/inspect/memory/live_sample.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

std::uint64_t finds(const archive::published_statistics& of) {
    return of.figures.hits_in_archive.count + of.figures.misses.count;
}

/// Ids are given in order, and those of what was undone again.
std::uint64_t objects_made(const state_report& state) {
    std::uint64_t sum = 0;
    for (const type_report& type : state.types)
        sum += type.next_id;
    return sum;
}

double increase(std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) : 0;
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
    rates.operations = increase(earlier.state.changes, later.state.changes) / seconds;
    rates.objects = increase(objects_made(earlier.state), objects_made(later.state)) / seconds;
    if (later.state.revision > earlier.state.revision)
        rates.revisions =
            static_cast<double>(later.state.revision - earlier.state.revision) / seconds;
    rates.growth = (static_cast<double>(later.state.total().file_bytes) -
                    static_cast<double>(earlier.state.total().file_bytes)) /
                   seconds;
    if (!is_one_count(earlier, later)) return rates;
    rates.archive_finds = increase(finds(*earlier.archive), finds(*later.archive)) / seconds;
    rates.archive_rows =
        increase(earlier.archive->figures.rows_put, later.archive->figures.rows_put) / seconds;
    return rates;
}

live_sample live_sampler::take() const {
    live_sample sample;
    sample.state = read_state(state_, patience);
    sample.time = std::chrono::system_clock::now();
    sample.taken = std::chrono::steady_clock::now();
    sample.locks = lock_report::read(state_);
    sample.archive = archive::statistics_page::look(state_ / "archive");
    return sample;
}

} // namespace chainbase::inspect
