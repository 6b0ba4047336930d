#include <tools/inspect/top/view_tables.hpp>

namespace chainbase::inspect {

namespace {

using archive::statistics_summary;

struct named_count {
    const char* name;
    std::uint64_t statistics_summary::* count;
    bool is_bytes = false;
    bool is_sum = true; ///< it only grows, so that its rate says something
};

constexpr named_count archive_counts[] = {
    {"rows handed over", &statistics_summary::rows_put},
    {"rows that were there already", &statistics_summary::rows_unchanged},
    {"rows erased", &statistics_summary::rows_erased},
    {"bytes of rows and keys", &statistics_summary::bytes_put, true},
    {"bytes of records", &statistics_summary::record_bytes_put, true},
    {"objects that left memory", &statistics_summary::objects_handed_over},
    {"largest batch, rows", &statistics_summary::largest_batch_rows, false, false},
    {"largest batch, bytes", &statistics_summary::largest_batch_bytes, true, false},
    {"calls that failed", &statistics_summary::failures},
};

cell byte_rate(std::uint64_t now, std::uint64_t before, double seconds) {
    if (seconds <= 0 || now < before) return nothing();
    const double figure = static_cast<double>(now - before) / seconds;
    return {short_bytes(figure), figure};
}

void add_count(sortable_table& to, const named_count& what, const top_sample& sample) {
    const std::uint64_t now = sample.now.archive->figures.*what.count;
    cell a_second = nothing();
    if (sample.archive_before && what.is_sum) {
        const std::uint64_t before = (*sample.archive_before).*what.count;
        a_second = what.is_bytes ? byte_rate(now, before, sample.seconds)
                                 : rate(now, &before, sample.seconds);
    }
    to.add({text(what.name), what.is_bytes ? bytes(now) : whole(now), a_second, nothing()});
}

void add_lookups(sortable_table& to, const top_sample& sample) {
    const statistics_summary& all = sample.now.archive->figures;
    std::uint64_t asked = 0;
    for (const named_times& each : lookup_times)
        asked += (all.*each.times).count;
    for (const named_times& each : lookup_times) {
        const std::uint64_t count = (all.*each.times).count;
        const std::uint64_t* const before =
            sample.archive_before ? &((*sample.archive_before).*each.times).count : nullptr;
        const double share =
            asked == 0 ? 0 : static_cast<double>(count) / static_cast<double>(asked);
        to.add({text(std::string("lookups: ") + each.name), whole(count),
                rate(count, before, sample.seconds),
                asked == 0 ? nothing() : cell{percent(share, 1), share}});
    }
}

} // namespace

sortable_table archive_table(const view_content& content) {
    sortable_table table({{"since the archive was opened"}, {"count"}, {"a second"}, {"share"}});
    const top_sample& sample = content.sample;
    if (!sample.now.archive) return table;
    add_lookups(table, sample);
    for (const named_count& each : archive_counts)
        add_count(table, each, sample);
    return table;
}

} // namespace chainbase::inspect
