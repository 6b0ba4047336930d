#include <tools/inspect/top/view_tables.hpp>

namespace chainbase::inspect {

namespace {

using archive::latency_histogram;
using archive::statistics_summary;

/// What the archive measured since it was opened.
void add_times(sortable_table& to, std::string name, const named_times& what,
               const top_sample& sample) {
    const archive::times_summary& all = sample.now.archive->figures.*what.times;
    const std::uint64_t* const before =
        sample.archive_before ? &((*sample.archive_before).*what.times).count : nullptr;
    std::vector<cell> row{text(std::move(name)), whole(all.count),
                          rate(all.count, before, sample.seconds)};
    for (const std::uint64_t each :
         {all.p50_ns, all.p99_ns, all.p999_ns, all.longest_ns, all.total_ns})
        row.push_back(all.count == 0 ? nothing() : duration(static_cast<double>(each)));
    to.add(std::move(row));
}

/// What was seen under way.
void add_seen(sortable_table& to, const char* name, const latency_histogram& seen) {
    const archive::latency_reading all = seen.read();
    std::vector<cell> row{text(name), whole(all.count()), nothing()};
    for (const std::uint64_t ns :
         {all.quantile(0.5), all.quantile(0.99), all.quantile(0.999), all.longest_ns()}) {
        const double figure = static_cast<double>(ns);
        row.push_back(all.count() == 0 ? nothing() : cell{short_age(figure / 1e9), figure});
    }
    row.push_back(nothing());
    to.add(std::move(row));
}

constexpr named_times other_times[] = {
    {"hand-over: rows made", &statistics_summary::encodings},
    {"hand-over: rows written", &statistics_summary::batches},
    {"hand-over: waited for", &statistics_summary::waits},
    {"hand-over: left memory", &statistics_summary::removals},
    {"archive: synced", &statistics_summary::syncs},
};

} // namespace

sortable_table latency_table(const view_content& content) {
    sortable_table table(
        {{"what"}, {"count"}, {"a second"}, {"p50"}, {"p99"}, {"p99.9"}, {"longest"}, {"in all"}});
    add_seen(table, "write turns under way *", content.locks.write_turns);
    add_seen(table, "writer waits under way *", content.locks.writer_waits);
    add_seen(table, "read turns under way *", content.locks.read_turns);
    add_seen(table, "reader waits under way *", content.locks.reader_waits);
    if (!content.sample.now.archive) return table;
    for (const named_times& each : lookup_times)
        add_times(table, std::string("lookup: ") + each.name, each, content.sample);
    for (const named_times& each : other_times)
        add_times(table, each.name, each, content.sample);
    return table;
}

} // namespace chainbase::inspect
